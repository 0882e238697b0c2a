------------------------------- MODULE Limits -------------------------------
(***************************************************************************)
(* One name's limit over its versions: a raise mints, a lowering is a debt *)
(* that is burned, a deletion lowers to nothing.  Version v + 1 is there   *)
(* only after v is done; one holder claims a version and mints it; debts,  *)
(* also of nothing, pass to heirs.  Transfers are counted by destination:  *)
(* Supply.tla has them in full.                                            *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Broker, Most,   \* the highest limit
          Versions, Deaths, Broken
Nobody == "nobody"
Off(rule) == rule \in Broken

VARIABLES
    version, limit, done,  \* the last version; limit of each; versions that are done
    minter, claimed,       \* of the last version; whoever once read of itself that it is, and may act on that late
    share, gate, hand,     \* of each holder: by its journal, at its gate, removed there to be burned
    flying,                \* on its way to each
    minted,                \* <<holder, version>> by its journal
    debt,                  \* of each: <<version, what is still to be burned>>
    dead, closed, passed,  \* its process is gone; its journal is closed; it was inherited
    mints                  \* history: how often the last version was minted
vars == <<version, limit, done, minter, claimed, share, gate, hand, flying, minted, debt, dead, closed, passed, mints>>

None == <<0, 0>>
Above(x, y) == IF x > y THEN x - y ELSE 0
Lives(b) == b \notin dead /\ b \notin closed
\* A ledger remembers the last version only.
Minted(b, v) == \E w \in v..Versions : <<b, w>> \in minted
Zero == [b \in Broker |-> 0]

Init == /\ version = 1 /\ limit = [v \in 1..Versions |-> IF v = 1 THEN Most ELSE 0] /\ done = {}
        /\ minter = Nobody /\ claimed = {}
        /\ share = Zero /\ gate = Zero /\ hand = Zero /\ flying = Zero
        /\ minted = {} /\ debt = [b \in Broker |-> None] /\ dead = {} /\ closed = {} /\ passed = {} /\ mints = 0

\* code: LimitRow.next, KnownLimits.read
Change(l) == /\ version < Versions /\ (version \in done \/ Off("oneAtATime")) /\ l # limit[version]
             /\ version' = version + 1 /\ limit' = [limit EXCEPT ![version + 1] = l] /\ minter' = Nobody
             /\ claimed' = {} /\ mints' = 0
             /\ UNCHANGED <<done, share, gate, hand, flying, minted, debt, dead, closed, passed>>

\* broken: a forgotten name begins with version 1 again, though ledgers remember having minted it
BeginAgain == /\ Off("versionsGoOn") /\ version \in done /\ version > 1 /\ limit[version] = 0
              /\ version' = 1 /\ limit' = [limit EXCEPT ![1] = Most] /\ done' = {} /\ minter' = Nobody
              /\ claimed' = {} /\ mints' = 0
              /\ UNCHANGED <<share, gate, hand, flying, minted, debt, dead, closed, passed>>

\* A second claim needs a minter whose closed journal lacks the version.
\* code: LimitRow.claim, Ledger.minted
ClaimMint(b) ==
    /\ Lives(b) /\ version \notin done /\ minter # b
    /\ \/ minter = Nobody
       \/ /\ minter \in closed \/ Off("closedMinter")
          /\ ~Minted(minter, version) \/ Off("snapshotHasMints")
    /\ minter' = b /\ claimed' = claimed \cup {b}
    /\ UNCHANGED <<version, limit, done, share, gate, hand, flying, minted, debt, dead, closed, passed, mints>>

\* code: Bookkeeper.mint, Bookkeeper.committed
Mint(b) ==
    LET before == IF version = 1 THEN 0 ELSE limit[version - 1]
        more == Above(limit[version], before)
    IN
    /\ Lives(b) /\ hand[b] = 0 /\ version \notin done /\ (b \in claimed \/ Off("claimFirst"))
    /\ ~Minted(b, version)
    /\ minted' = minted \cup {<<b, version>>} /\ mints' = mints + 1
    /\ share' = [share EXCEPT ![b] = @ + more] /\ gate' = [gate EXCEPT ![b] = @ + more]
    /\ debt' = [debt EXCEPT ![b] = <<version, Above(before, limit[version])>>]
    /\ UNCHANGED <<version, limit, done, minter, claimed, hand, flying, dead, closed, passed>>

Owes(b) == IF debt[b] = None THEN 0 ELSE debt[b][2]

\* Removed at the gate first.
\* code: Bookkeeper.burn, Gate.remove
BeginBurn(b) ==
    /\ Lives(b) /\ hand[b] = 0 /\ Owes(b) > 0 /\ gate[b] > 0 /\ ~Off("removeFirst")
    /\ gate' = [gate EXCEPT ![b] = @ - 1] /\ hand' = [hand EXCEPT ![b] = 1]
    /\ UNCHANGED <<version, limit, done, minter, claimed, share, flying, minted, debt, dead, closed, passed, mints>>
\* code: Bookkeeper.removed, Bookkeeper.committed
Burn(b) ==
    /\ Lives(b) /\ Owes(b) > 0 /\ share[b] > 0 /\ (hand[b] = 1 \/ (Off("removeFirst") /\ gate[b] = share[b]))
    /\ hand' = [hand EXCEPT ![b] = 0] /\ share' = [share EXCEPT ![b] = @ - 1]
    /\ debt' = [debt EXCEPT ![b] = <<@[1], @[2] - 1>>]
    /\ UNCHANGED <<version, limit, done, minter, claimed, gate, flying, minted, dead, closed, passed, mints>>
\* broken: the gate is told afterwards
RemoveLater(b) ==
    /\ Off("removeFirst") /\ Lives(b) /\ gate[b] > share[b] /\ gate' = [gate EXCEPT ![b] = @ - 1]
    /\ UNCHANGED <<version, limit, done, minter, claimed, share, hand, flying, minted, debt, dead, closed,
                   passed, mints>>

\* Said again as long as the version is not done: also a debt of nothing is a duty.
\* code: Bookkeeper.burn, LimitRow.finished
Finish(b) ==
    /\ Lives(b) /\ debt[b] # None /\ debt[b][1] \notin done /\ (debt[b][2] = 0 \/ Off("burnBeforeDone"))
    /\ done' = done \cup {debt[b][1]}
    /\ UNCHANGED <<version, limit, minter, claimed, share, gate, hand, flying, minted, debt, dead, closed,
                   passed, mints>>

\* code: Bookkeeper.debit
Give(b, c) == /\ b # c /\ Lives(b) /\ hand[b] = 0 /\ gate[b] > 0
              /\ gate' = [gate EXCEPT ![b] = @ - 1] /\ share' = [share EXCEPT ![b] = @ - 1]
              /\ flying' = [flying EXCEPT ![c] = @ + 1]
              /\ UNCHANGED <<version, limit, done, minter, claimed, hand, minted, debt, dead, closed, passed, mints>>
\* Also of a name that is deleted: it is credited, then burned.
\* code: Bookkeeper.credit
Take(b) == /\ Lives(b) /\ hand[b] = 0 /\ flying[b] > 0
           /\ gate' = [gate EXCEPT ![b] = @ + 1] /\ share' = [share EXCEPT ![b] = @ + 1]
           /\ flying' = [flying EXCEPT ![b] = @ - 1]
           /\ UNCHANGED <<version, limit, done, minter, claimed, hand, minted, debt, dead, closed, passed, mints>>
\* To whoever sent it, or that one's heir.
\* code: Bookkeeper.destinationClosed
Refund(b, c) == /\ b # c /\ Lives(b) /\ hand[b] = 0 /\ c \in closed /\ flying[c] > 0
                /\ gate' = [gate EXCEPT ![b] = @ + 1] /\ share' = [share EXCEPT ![b] = @ + 1]
                /\ flying' = [flying EXCEPT ![c] = @ - 1]
                /\ UNCHANGED <<version, limit, done, minter, claimed, hand, minted, debt, dead, closed, passed, mints>>

\* world: the process ends
Die(b) == /\ Lives(b) /\ Cardinality(dead) < Deaths /\ dead' = dead \cup {b}
          /\ gate' = [gate EXCEPT ![b] = 0] /\ hand' = [hand EXCEPT ![b] = 0]
          /\ UNCHANGED <<version, limit, done, minter, claimed, share, flying, minted, debt, closed, passed, mints>>
\* code: Inheritance.CloseJournal
Close(b) == /\ b \in dead \ closed /\ closed' = closed \cup {b}
            /\ UNCHANGED <<version, limit, done, minter, claimed, share, gate, hand, flying, minted, debt,
                           dead, passed, mints>>

\* The later of two debts; the older one is nothing.
Later(x, y) == IF x[1] < y[1] THEN y ELSE x
\* code: Bookkeeper.inherit, Ledger.apply
Inherit(b, v) ==
    /\ Lives(b) /\ hand[b] = 0 /\ v \in closed \ passed
    /\ passed' = passed \cup {v}
    /\ share' = [share EXCEPT ![b] = @ + share[v]] /\ gate' = [gate EXCEPT ![b] = @ + share[v]]
    /\ debt' = IF debt[v] = None \/ Off("debtsToo") \/ (Off("settledDebtsToo") /\ debt[v][2] = 0) THEN debt
               ELSE [debt EXCEPT ![b] = IF @ = None THEN debt[v] ELSE Later(@, debt[v])]
    /\ UNCHANGED <<version, limit, done, minter, claimed, hand, flying, minted, dead, closed, mints>>

Next == \/ \E l \in 0..Most : Change(l)
        \/ BeginAgain
        \/ \E b \in Broker : \/ ClaimMint(b) \/ Mint(b) \/ BeginBurn(b) \/ Burn(b) \/ RemoveLater(b) \/ Finish(b)
                             \/ Take(b) \/ Die(b) \/ Close(b)
                             \/ \E c \in Broker : Give(b, c) \/ Refund(b, c) \/ Inherit(b, c)
Spec == Init /\ [][Next]_vars

RECURSIVE Sum(_, _)
Sum(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE x \in S : TRUE IN f[x] + Sum(f, S \ {x})
Max(x, y) == IF x > y THEN x ELSE y
Exists == Sum(share, Broker \ passed) + Sum(flying, Broker)
Before == IF version = 1 THEN 0 ELSE limit[version - 1]

\* C1: there is never more than the larger of the version that is being made and the one before it.
NeverMore == Exists <= Max(limit[version], Before)
\* C2: of a version that is done there is exactly as much as it says.
DoneIsExact == version \in done => Exists = limit[version]
\* C3: a version is minted once.
MintedOnce == mints <= 1
\* Burned is what was removed at a gate.
GateWithinBook == \A b \in Broker : Lives(b) => gate[b] <= share[b]
\* C6: whatever died, somebody can still finish the version: mint it, claim it, or say that it is done.
Finishable == \/ version \in done
              \/ minter = Nobody \/ ~Minted(minter, version)
              \/ \E b \in Broker \ passed : debt[b][1] = version
\* What Ledger.later refuses: two debts of one name that are not settled.
OneDebt == \A b, c \in Broker \ passed : b # c => Owes(b) = 0 \/ Owes(c) = 0
Symmetry == Permutations(Broker)
=============================================================================

------------------------------- MODULE Supply -------------------------------
(***************************************************************************)
(* Supply that moves between holders, and outlives them.  A unit of supply *)
(* lies in one of two accounts.  A journal is what its replay says, as in  *)
(* Ledger; a write is one step here (Recovery.tla takes it apart).  What   *)
(* leaves a gate leaves it before it is written, so a crash may fall in    *)
(* between.  Messages are never lost from Mail: to lose one is not to      *)
(* deliver it, and to repeat one is to deliver it again.                   *)
(*                                                                         *)
(* The line "code:" above an action names the methods that carry it out; a *)
(* test holds both lists against each other.  Broken switches rules off.   *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Broker,     \* the processes
          Accounts,   \* {"leased"}, or {"leased", "kept"}
          Units,      \* of each account, all with one broker at first
          Lives,      \* how many incarnations a broker may have
          Moves,      \* transfers over all; if none, nothing is split otherwise either
          Faults,     \* over all
          Ways,       \* of failing: "crash", "pause" (a lease ends, a fence is needed), "leave"
          Retention,  \* whether closed journals are removed
          Broken      \* rules that are left out

Holder == Broker \X (1..Lives)
Nobody == <<"nobody", 0>>
Legacy == Holder \X Accounts
Off(rule) == rule \in Broken

VARIABLES
    up, life,         \* of each broker: whether it runs, and its incarnation
    lease,            \* by its own clock the leased account is usable
    shut,             \* its gate is closed for good
    gate,             \* units at its gate, by account
    hand,             \* removed at the gate and not written yet: transfers, one at the most
    row,              \* of each holder: NONE, LIVE, FENCED, STOPPED
    heir, done,       \* <<legacy, holder>>: who claimed it; legacies that a row says are inherited
    share,            \* what a journal says its holder has, by account
    open, adopted,    \* transfers, in their sender's journal and <<holder, transfer>> in an heir's, not known
                      \* to have ended
    seen,             \* the last transfer that a journal credited, for each pair
    took,             \* <<holder, legacy>>: what a journal says its holder inherited
    closed,           \* holders whose journal ends with Fenced
    vow, gone,        \* <<who, to whom>> will never send; journals that were removed
    mail, ended, passed, twice, faults  \* history: transfers sent, ended, legacies inherited, what happened twice

process == <<up, life, lease, shut, gate, hand>>
rows    == <<row, heir, done>>
books   == <<share, open, adopted, seen, took, closed>>
past    == <<mail, ended, passed, twice, faults>>
vars    == <<process, rows, books, vow, gone, past>>

Me(b) == <<b, life[b]>>
Ended(h) == row[h] \in {"FENCED", "STOPPED"}
Runs(h) == up[h[1]] /\ life[h[1]] = h[2]
Open(h) == h \notin closed
From(t) == t[1]
To(t) == t[2]
Number(t) == t[3]
Account(t) == t[4]
Pair(t) == <<t[1], t[2]>>
Credited(t) == \E s \in seen : Pair(s) = Pair(t) /\ Number(t) <= Number(s)
Own(h) == {t \in open : From(t) = h}
Adopted(h) == {x[2] : x \in {y \in adopted : y[1] = h}}
InBook(h) == Own(h) \cup Adopted(h)
NextNumber(h, to) == Cardinality({t \in mail : Pair(t) = <<h, to>>}) + 1
Heir(l) == IF \E x \in heir : x[1] = l THEN (CHOOSE x \in heir : x[1] = l)[2] ELSE Nobody
WithHeir(l, h) == {x \in heir : x[1] # l} \cup {<<l, h>>}

Init ==
    /\ up = [b \in Broker |-> TRUE] /\ life = [b \in Broker |-> 1]
    /\ lease = [b \in Broker |-> TRUE] /\ shut = [b \in Broker |-> FALSE]
    /\ hand = [b \in Broker |-> {}]
    /\ row = [h \in Holder |-> IF h[2] = 1 THEN "LIVE" ELSE "NONE"]
    /\ heir = {} /\ done = {}
    /\ \E first \in Broker :
          /\ gate = [b \in Broker |-> [a \in Accounts |-> IF b = first THEN Units ELSE 0]]
          /\ share = [h \in Holder |-> [a \in Accounts |-> IF h = <<first, 1>> THEN Units ELSE 0]]
    /\ open = {} /\ adopted = {} /\ seen = {} /\ took = {} /\ closed = {}
    /\ vow = {} /\ gone = {}
    /\ mail = {} /\ ended = {} /\ passed = {} /\ twice = {} /\ faults = 0

(* ---- moving ---- *)

\* One transfer is open for a pair.  An acknowledgement is not written: it may come as soon as the credit is there.
CanDebit(h, to) == \A t \in Own(h) : To(t) = to => Credited(t) \/ Off("onePerPair")

\* code: Bookkeeper.debit, Bookkeeper.canDebit, Gate.remove
Debit(b, to, a) ==
    /\ up[b] /\ ~shut[b] /\ hand[b] = {} /\ gate[b][a] > 0 /\ Cardinality(mail) < Moves
    /\ to # Me(b) /\ row[to] # "NONE"   \* perhaps no longer live: what it has read may be old
    /\ <<Me(b), to>> \notin vow /\ CanDebit(Me(b), to)
    /\ gate' = IF Off("removeAtGate") THEN gate ELSE [gate EXCEPT ![b][a] = @ - 1]
    /\ hand' = [hand EXCEPT ![b] = {<<Me(b), to, NextNumber(Me(b), to), a>>}]
    /\ UNCHANGED <<up, life, lease, shut, rows, books, vow, gone, past>>

\* code: Bookkeeper.removed, Bookkeeper.committed, Ledger.apply
WriteDebited(b) == \E t \in hand[b] :
    /\ up[b] /\ Open(Me(b))
    /\ hand' = [hand EXCEPT ![b] = {}]
    /\ share' = [share EXCEPT ![Me(b)][Account(t)] = @ - 1]
    /\ open' = {o \in open : Pair(o) # Pair(t)} \cup {t}
    /\ mail' = mail \cup {t}
    /\ UNCHANGED <<up, life, lease, shut, gate, rows, adopted, seen, took, closed, vow, gone, ended, passed, twice,
                   faults>>

\* Whatever a holder writes, it fails on Fenced in a journal that was closed; the ledger's next life finds it closed
\* for good.
\* code: Bookkeeper.recover, Lease.close
MeetFenced(b) ==
    /\ up[b] /\ ~Open(Me(b)) /\ ~shut[b]
    /\ shut' = [shut EXCEPT ![b] = TRUE] /\ hand' = [hand EXCEPT ![b] = {}]
    /\ UNCHANGED <<up, life, lease, gate, rows, books, vow, gone, past>>

\* code: Bookkeeper.resend, Bookkeeper.inFlight, Bookkeeper.credit, Bookkeeper.committed, Ledger.credited, Gate.add
Credit(b) == \E t \in mail :
    /\ up[b] /\ hand[b] = {} /\ To(t) = Me(b) /\ Open(Me(b))
    /\ ~Credited(t) \/ (Off("seen") /\ share[Me(b)][Account(t)] < Units)
    /\ seen' = IF Credited(t) THEN seen ELSE {s \in seen : Pair(s) # Pair(t)} \cup {t}
    /\ share' = [share EXCEPT ![Me(b)][Account(t)] = @ + 1]
    /\ gate' = [gate EXCEPT ![b][Account(t)] = @ + 1]
    /\ adopted' = adopted \ {<<Me(b), t>>}
    /\ ended' = ended \cup {t}
    /\ twice' = IF t \in ended THEN twice \cup {"credit"} ELSE twice
    /\ UNCHANGED <<up, life, lease, shut, hand, rows, open, took, closed, vow, gone, mail, passed, faults>>

\* broken: at the gate before it is written
UseUnwritten(b) == \E t \in mail :
    /\ Off("writeFirst") /\ up[b] /\ To(t) = Me(b) /\ ~Credited(t) /\ gate[b][Account(t)] < Units
    /\ gate' = [gate EXCEPT ![b][Account(t)] = @ + 1]
    /\ UNCHANGED <<up, life, lease, shut, hand, rows, books, vow, gone, past>>

\* An adopted one is known to be credited; own ones need no such event until their destination is closed.
\* code: Bookkeeper.acknowledged
Deliver(b) == \E t \in Adopted(Me(b)) :
    /\ up[b] /\ hand[b] = {} /\ Open(Me(b)) /\ Credited(t)
    /\ adopted' = adopted \ {<<Me(b), t>>}
    /\ UNCHANGED <<process, rows, share, open, seen, took, closed, vow, gone, past>>

\* A closed journal says for ever whether the transfer arrived.
\* code: Bookkeeper.destinationClosed
Settle(b) == \E t \in InBook(Me(b)) :
    /\ up[b] /\ hand[b] = {} /\ Open(Me(b)) /\ (~Open(To(t)) \/ Off("refundWhenClosed"))
    /\ open' = open \ {o \in Own(Me(b)) : o = t} /\ adopted' = adopted \ {<<Me(b), t>>}
    /\ IF Credited(t)
       THEN UNCHANGED <<share, gate, ended, twice>>
       ELSE /\ share' = [share EXCEPT ![Me(b)][Account(t)] = @ + 1]
            /\ gate' = [gate EXCEPT ![b][Account(t)] = @ + 1]
            /\ ended' = ended \cup {t}
            /\ twice' = IF t \in ended THEN twice \cup {"refund"} ELSE twice
    /\ UNCHANGED <<up, life, lease, shut, hand, rows, seen, took, closed, vow, gone, mail, passed, faults>>

\* The split between the accounts changes; what is moved lies at no gate meanwhile, which is one step here.
\* code: Bookkeeper.refloor
Refloor(b, a, c) ==
    /\ Moves > 0 /\ up[b] /\ ~shut[b] /\ hand[b] = {} /\ Open(Me(b)) /\ a # c /\ gate[b][a] > 0
    /\ gate' = [gate EXCEPT ![b][a] = @ - 1, ![b][c] = @ + 1]
    /\ share' = [share EXCEPT ![Me(b)][a] = @ - 1, ![Me(b)][c] = @ + 1]
    /\ UNCHANGED <<up, life, lease, shut, hand, rows, open, adopted, seen, took, closed, vow, gone, past>>

(* ---- leases and lives ---- *)

\* Paused or cut off for longer than its lease: by its own clock the leased account is over.
\* code: Lease.usable
LeaseEnds(b) ==
    /\ "pause" \in Ways /\ up[b] /\ lease[b] /\ faults < Faults /\ faults' = faults + 1
    /\ lease' = [lease EXCEPT ![b] = FALSE]
    /\ UNCHANGED <<up, life, shut, gate, hand, rows, books, vow, gone, mail, ended, passed, twice>>

\* A refused renewal means fenced.
\* code: LeaseRow.renew, Lease.renewed, Lease.close
Renew(b) ==
    /\ up[b] /\ ~lease[b] /\ ~shut[b]
    /\ IF row[Me(b)] = "LIVE" THEN lease' = [lease EXCEPT ![b] = TRUE] /\ UNCHANGED shut
                              ELSE shut' = [shut EXCEPT ![b] = TRUE] /\ UNCHANGED lease
    /\ UNCHANGED <<up, life, gate, hand, rows, books, vow, gone, past>>

\* world: the process ends, and what its gate held is gone
Crash(b) ==
    /\ "crash" \in Ways /\ up[b] /\ faults < Faults /\ faults' = faults + 1
    /\ up' = [up EXCEPT ![b] = FALSE] /\ lease' = [lease EXCEPT ![b] = FALSE]
    /\ gate' = [gate EXCEPT ![b] = [a \in Accounts |-> 0]] /\ hand' = [hand EXCEPT ![b] = {}]
    /\ UNCHANGED <<life, shut, rows, books, vow, gone, mail, ended, passed, twice>>

\* A new incarnation has nothing.  What it reads of the rows it reads from now on.
\* code: LeaseRow.registered
Begin(b) ==
    /\ life[b] < Lives /\ (~up[b] \/ shut[b])
    /\ up' = [up EXCEPT ![b] = TRUE] /\ life' = [life EXCEPT ![b] = @ + 1]
    /\ lease' = [lease EXCEPT ![b] = TRUE] /\ shut' = [shut EXCEPT ![b] = FALSE]
    /\ row' = [row EXCEPT ![<<b, life[b] + 1>>] = "LIVE"]
    /\ hand' = [hand EXCEPT ![b] = {}]
    /\ gate' = [gate EXCEPT ![b] = IF Off("newLifeIsEmpty") THEN share[Me(b)] ELSE [a \in Accounts |-> 0]]
    /\ share' = IF Off("newLifeIsEmpty") THEN [share EXCEPT ![<<b, life[b] + 1>>] = share[Me(b)]] ELSE share
    /\ vow' = IF Retention THEN vow \cup {<<<<b, life[b] + 1>>, h>> : h \in {g \in Holder : Ended(g)}} ELSE vow
    /\ UNCHANGED <<heir, done, open, adopted, seen, took, closed, gone, past>>

\* Where there is nothing to keep, a stop gives heirs no more than a fence.
Stops == Retention \/ "kept" \in Accounts

\* Leaving: the gate first, then the row.
\* code: Lease.close, LeaseRow.stop
Leave(b) ==
    /\ "leave" \in Ways /\ up[b] /\ row[Me(b)] # "STOPPED" /\ faults < Faults /\ faults' = faults + 1
    /\ shut' = [shut EXCEPT ![b] = TRUE] /\ hand' = [hand EXCEPT ![b] = {}]
    /\ row' = [row EXCEPT ![Me(b)] = "STOPPED"]
    /\ UNCHANGED <<up, life, lease, gate, heir, done, books, vow, gone, mail, ended, passed, twice>>

(* ---- inheriting ---- *)

\* Its lease is over for certain: Lease.tla says why.  (A journal whose holder is fenced only is never removed.)
\* code: LeaseWatch.expired, LeaseRow.fence
Fence(h) ==
    /\ ~Retention /\ row[h] = "LIVE" /\ (~Runs(h) \/ ~lease[h[1]] \/ shut[h[1]] \/ Off("leaseOver"))
    /\ row' = [row EXCEPT ![h] = "FENCED"]
    /\ UNCHANGED <<process, heir, done, books, vow, gone, past>>

\* Proven by the file lock, by whoever reaped the process, or by the holder itself, whose gate is closed.
\* code: LeaseRow.stop
Stopped(h) ==
    /\ Stops /\ row[h] \in {"LIVE", "FENCED"} /\ (~Runs(h) \/ shut[h[1]])
    /\ row' = [row EXCEPT ![h] = "STOPPED"]
    /\ UNCHANGED <<process, heir, done, books, vow, gone, past>>

Inheritable(l) == IF l[2] = "leased" \/ Off("keptWhenStopped") THEN Ended(l[1]) ELSE row[l[1]] = "STOPPED"

\* code: Inheritance.CloseJournal, LeaseRow.unfinished
Close(h) ==
    /\ Ended(h) /\ Open(h)
    /\ closed' = closed \cup {h}
    /\ UNCHANGED <<process, rows, share, open, adopted, seen, took, vow, gone, past>>

\* In the place of another only if that one's journal is closed and lacks the legacy.
\* code: Inheritance.Claim, Inheritance.ReadHeir, Inheritance.Rest, LeaseRow.claim, Ledger.inherited
Claim(b, l) ==
    /\ up[b] /\ Me(b) # l[1] /\ Inheritable(l) /\ l \notin done /\ (~Open(l[1]) \/ Off("closeFirst"))
    /\ Heir(l) # Me(b)
    /\ \/ Heir(l) = Nobody
       \/ Off("oneHeir")
       \/ ~Open(Heir(l)) /\ (<<Heir(l), l>> \notin took \/ Off("snapshotHasLegacies"))
    /\ heir' = WithHeir(l, Me(b))
    /\ UNCHANGED <<process, row, done, books, vow, gone, past>>

\* Open transfers come with the leased account.  Whoever adopts one takes back its word about that destination.
\* code: Inheritance.Inherit, Bookkeeper.inherit, LeaseRow.inheritable
Inherit(b, l) ==
    LET v == l[1]
        mine == IF Off("adoptedToo") THEN Own(v) ELSE InBook(v)
    IN
    /\ up[b] /\ hand[b] = {} /\ Open(Me(b)) /\ Heir(l) = Me(b) /\ <<Me(b), l>> \notin took
    /\ l \notin done
    /\ took' = took \cup {<<Me(b), l>>}
    /\ share' = [share EXCEPT ![Me(b)][l[2]] = @ + share[v][l[2]]]
    /\ gate' = [gate EXCEPT ![b][l[2]] = @ + share[v][l[2]]]
    /\ adopted' = IF l[2] = "leased" /\ ~Off("openToo") THEN adopted \cup {<<Me(b), t>> : t \in mine} ELSE adopted
    /\ vow' = IF l[2] = "leased" /\ ~Off("wordTakenBack") THEN vow \ {<<Me(b), To(t)>> : t \in mine} ELSE vow
    /\ passed' = passed \cup {l}
    /\ twice' = IF l \in passed THEN twice \cup {"legacy"} ELSE twice
    /\ UNCHANGED <<up, life, lease, shut, hand, rows, open, seen, closed, gone, mail, ended, faults>>

\* Without removals nothing depends on it: whoever asks finds the same in the heir's journal.
\* code: Inheritance.MarkDone, LeaseRow.done
MarkDone(l) ==
    /\ Retention /\ l \notin done /\ <<Heir(l), l>> \in took
    /\ done' = done \cup {l}
    /\ UNCHANGED <<process, row, heir, books, vow, gone, past>>

(* ---- removing what nobody needs ---- *)

\* It has read that this holder is not live, its journal has no open transfer to it, and it will begin none.
\* code: Retention.question, Retention.round, Retention.answer, Retention.answered, Bookkeeper.mayLookUp, LeaseWatch.gone
Vow(b, h) ==
    /\ Retention /\ up[b] /\ hand[b] = {} /\ Open(Me(b)) /\ Ended(h) /\ <<Me(b), h>> \notin vow
    /\ \A t \in InBook(Me(b)) : To(t) # h
    /\ vow' = vow \cup {<<Me(b), h>>}
    /\ UNCHANGED <<process, rows, books, gone, past>>

Given(h) == \A a \in Accounts : <<h, a>> \in done
\* A holder whose open transfers are still its own, or will be its heir's.
Counts(g) == row[g] # "NONE" /\ <<g, "leased">> \notin done
Removable(h) ==
    /\ row[h] = "STOPPED" /\ (Given(h) \/ Off("givenAway"))
    /\ \A g \in Holder \ {h} :
          (IF Off("notLiveToo") THEN row[g] = "LIVE" ELSE Counts(g)) => <<g, h>> \in vow \/ Off("vows")
    \* Whoever looks what became of a legacy that this holder claimed reads its journal.  (The same is true of
    \* a version of a limit that it claimed: Limits.tla without snapshotHasMints.)
    /\ \A l \in Legacy : Heir(l) = h => l \in done \/ Off("heirsDone")

\* Its row goes too.  An absent journal is read as an empty one that anybody may close.
\* code: Retention.leases, Retention.due, Retention.done, SupplyStore.forget
Remove(h) ==
    /\ Retention /\ h \in closed \ gone /\ Removable(h)
    /\ gone' = gone \cup {h}
    /\ share' = [share EXCEPT ![h] = [a \in Accounts |-> 0]]
    /\ open' = {t \in open : From(t) # h} /\ adopted' = {x \in adopted : x[1] # h}
    /\ seen' = {t \in seen : To(t) # h} /\ took' = {x \in took : x[1] # h}
    /\ UNCHANGED <<process, rows, closed, vow, past>>

Next ==
    \/ \E b \in Broker :
          \/ WriteDebited(b) \/ MeetFenced(b) \/ Credit(b) \/ UseUnwritten(b) \/ Deliver(b) \/ Settle(b)
          \/ LeaseEnds(b) \/ Renew(b) \/ Crash(b) \/ Begin(b) \/ Leave(b)
          \/ \E h \in Holder : Vow(b, h) \/ \E a \in Accounts : Debit(b, h, a)
          \/ \E a, c \in Accounts : Refloor(b, a, c)
          \/ \E l \in Legacy : Claim(b, l) \/ Inherit(b, l)
    \/ \E h \in Holder : Fence(h) \/ Stopped(h) \/ Close(h) \/ Remove(h)
    \/ \E l \in Legacy : MarkDone(l)
Spec == Init /\ [][Next]_vars

(* ---- what must hold ---- *)

RECURSIVE Sum(_, _)
Sum(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE x \in S : TRUE IN f[x] + Sum(f, S \ {x})

Total == Units * Cardinality(Accounts)
Held == Sum([l \in Legacy |-> share[l[1]][l[2]]], Legacy \ passed)
Keepers == {h \in Holder : <<h, "leased">> \notin passed}
Flying == {t \in UNION {InBook(h) : h \in Keepers} : t \notin ended}

\* C2: what was minted is held by somebody, or on its way.
Conserved == Held + Cardinality(Flying) = Total

\* C1, C4: what can admit at this moment is never more than what was minted.
Usable(b, a) == IF up[b] /\ ~shut[b] /\ (a = "kept" \/ lease[b]) THEN gate[b][a] ELSE 0
UsedOnce == Sum([x \in Broker \X Accounts |-> Usable(x[1], x[2])], Broker \X Accounts) <= Total

\* C3: a transfer is credited or refunded, an account inherited, once.
OnceOnly == twice = {}

\* A gate holds at most what its journal says, so a crash at any step loses no bound.
GateWithinBook == \A b \in Broker, a \in Accounts : up[b] /\ Open(Me(b)) => gate[b][a] <= share[Me(b)][a]

\* C6 as far as safety can say it: what is on its way can still end, and a removed journal is asked by nobody.
NothingAsksTheRemoved == \A h \in Keepers, g \in gone : \A t \in InBook(h) : To(t) # g

Symmetry == Permutations(Broker)
=============================================================================

------------------------------ MODULE Deletion ------------------------------
(***************************************************************************)
(* A name that is deleted and created again must not give its burst twice. *)
(* Deleting lowers the limit to nothing; a tombstone (name, last version)  *)
(* stays.  A creation that finds it is a later version and mints at level  *)
(* 0; the first version of a forgotten name mints full.  So a tombstone    *)
(* goes only when one watcher has seen it, with all of it burned, for      *)
(* longer than the limit needs to forget what was admitted: Wait ticks.    *)
(* One broker may be cut off, and burn its kept part much later.           *)
(*                                                                         *)
(* Version 1 stands for LimitRow.first, of a forgotten name.  The number    *)
(* itself must not come again: ledgers remember it (Limits, versionsGoOn). *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Broker,    \* each has one token of burst and a rate of one a tick: b = r = Cardinality(Broker)
          Wait,      \* 2 b / r + W, in ticks
          Versions, Broken
Off(rule) == rule \in Broken

VARIABLES
    name,            \* LIVE, DELETED (a tombstone), FORGOTTEN
    version,         \* of its row; it begins again with a forgotten name
    life,            \* counts all creations, to bound them
    holds, level,    \* brokers that have their part; its level
    sight, age,      \* the version of the tombstone that the watcher has in sight, and for how long
    decided,         \* the version that it is about to remove
    debt             \* what the limit has still to forget
vars == <<name, version, life, holds, level, sight, age, decided, debt>>

Above(x, y) == IF x > y THEN x - y ELSE 0
All == Cardinality(Broker)
Burned == holds = {}

Init == /\ name = "LIVE" /\ version = 1 /\ life = 1 /\ holds = Broker /\ level = [b \in Broker |-> 1]
        /\ sight = 0 /\ age = 0 /\ decided = 0 /\ debt = 0

\* code: Gate.take
Admit(b) == /\ b \in holds /\ level[b] > 0 /\ level' = [level EXCEPT ![b] = 0] /\ debt' = debt + 1
            /\ UNCHANGED <<name, version, life, holds, sight, age, decided>>

\* The watcher's clock goes on as long as it sees the same tombstone with nothing left to burn.
\* world: time
Tick == /\ level' = [b \in Broker |-> IF b \in holds THEN 1 ELSE 0] /\ debt' = Above(debt, All)
        /\ IF name = "DELETED" /\ sight = version /\ (Burned \/ Off("sinceLastBurn"))
           THEN age' = IF age < Wait THEN age + 1 ELSE age ELSE age' = 0
        /\ UNCHANGED <<name, version, life, holds, sight, decided>>
\* code: Retention.limits
See == /\ sight # version /\ sight' = version /\ age' = 0
       /\ UNCHANGED <<name, version, life, holds, level, decided, debt>>
\* world: another watcher, with nothing in sight
NewWatcher == /\ sight # 0 /\ sight' = 0 /\ age' = 0 /\ decided' = 0
              /\ UNCHANGED <<name, version, life, holds, level, debt>>

\* code: LimitRow.next
Delete == /\ name = "LIVE" /\ name' = "DELETED" /\ version' = version + 1 /\ UNCHANGED age
          /\ UNCHANGED <<life, holds, level, sight, decided, debt>>
\* code: Bookkeeper.burn
Burn(b) == /\ name = "DELETED" /\ b \in holds /\ holds' = holds \ {b} /\ level' = [level EXCEPT ![b] = 0]
           /\ UNCHANGED <<name, version, life, sight, age, decided, debt>>

\* A deletion is waited for.  Only a name's very first version starts full.
\* code: LimitRow.next, Bookkeeper.mint
Create == /\ name # "LIVE" /\ Burned /\ life < Versions /\ life' = life + 1
          /\ name' = "LIVE" /\ holds' = Broker /\ UNCHANGED age
          /\ LET first == name = "FORGOTTEN" IN
                /\ version' = IF first THEN 1 ELSE version + 1
                /\ level' = [b \in Broker |-> IF first \/ Off("emptyAgain") THEN 1 ELSE 0]
          /\ UNCHANGED <<sight, decided, debt>>

\* code: Retention.due
Decide == /\ name = "DELETED" /\ sight = version /\ age >= (IF Off("wait") THEN 0 ELSE Wait) /\ decided' = version
          /\ (Burned \/ Off("sinceLastBurn"))
          /\ UNCHANGED <<name, version, life, holds, level, sight, age, debt>>
\* A condition of the store's: the name may have been created and deleted again meanwhile.
\* code: SupplyStore.forgetName
Forget == /\ decided # 0 /\ name = "DELETED" /\ Burned /\ (decided = version \/ Off("sameVersion"))
          /\ name' = "FORGOTTEN" /\ decided' = 0 /\ sight' = 0 /\ age' = 0
          /\ UNCHANGED <<version, life, holds, level, debt>>

Next == Tick \/ See \/ NewWatcher \/ Delete \/ Create \/ Decide \/ Forget \/ \E b \in Broker : Admit(b) \/ Burn(b)
Spec == Init /\ [][Next]_vars

\* C1 for the name, whatever became of it in between.
HardBound == debt <= All
Symmetry == Permutations(Broker)
=============================================================================

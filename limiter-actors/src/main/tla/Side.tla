-------------------------------- MODULE Side --------------------------------
(***************************************************************************)
(* A question: could the kept accounts of brokers that cannot reach the    *)
(* store move among these brokers, and be reconciled?  Each of a cut-off   *)
(* side's brokers was fenced long ago, so its journal is closed and says   *)
(* for ever that it keeps what it had.  Say that they hand units over by   *)
(* messages and by what they remember.  The store's side sees none of it.  *)
(* It inherits a kept account when the row says STOPPED: the holder itself *)
(* is back and has closed its gate, or its process is known to be dead.    *)
(*                                                                         *)
(* Not sound as it is (Broken = {"statements"}): a hands its unit to b and *)
(* crashes, its host's keeper writes STOPPED, an heir takes over what a's  *)
(* journal says, and b, still cut off, goes on with the same unit.         *)
(*                                                                         *)
(* Sound with one more rule: what a holder kept passes to an heir only when *)
(* every holder that may have got a part of it is stopped too, or has said *)
(* through the store that it has nothing of it and will take nothing more. *)
(* The price: one broker that stays cut off, or died unseen, strands the   *)
(* kept supply of all others that stopped meanwhile.  That trades what is  *)
(* there today (a confirmed stop gives the supply back at once) for an     *)
(* evener split within the side.                                           *)
(*                                                                         *)
(* Tokens can move without that: Borrow.tla, between kept accounts.  They  *)
(* are spent or lost, so nothing is to be reconciled, and an heir begins   *)
(* with level 0.                                                           *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Side,      \* the brokers that are cut off, one unit kept by each
          Broken
Off(rule) == rule \in Broken

VARIABLES
    holds,           \* <<who, whose>>: units in use on the side, by whose journal they are in
    flying,          \* <<to, whose>>: on its way
    running,         \* brokers whose gate may admit
    stopped,         \* rows that say STOPPED
    said,            \* <<who, whose>>: has said that it has nothing of this holder's, and takes nothing more
    inherited        \* whose kept account an heir has
vars == <<holds, flying, running, stopped, said, inherited>>

Init == /\ holds = {<<b, b>> : b \in Side} /\ flying = {} /\ running = Side /\ stopped = {}
        /\ said = {} /\ inherited = {}

\* not built: a hand-over without the store
Hand(b, c, o) == /\ b # c /\ b \in running /\ <<b, o>> \in holds
                 /\ holds' = holds \ {<<b, o>>} /\ flying' = flying \cup {<<c, o>>}
                 /\ UNCHANGED <<running, stopped, said, inherited>>
\* not built: its other end
Take(b, o) == /\ b \in running /\ <<b, o>> \in flying /\ (<<b, o>> \notin said)
              /\ flying' = flying \ {<<b, o>>} /\ holds' = holds \cup {<<b, o>>}
              /\ UNCHANGED <<running, stopped, said, inherited>>
\* It dies; or it reaches the store again, finds itself fenced and closes its gate: with that it has nothing of
\* anybody's.
\* code: Lease.close
End(b) == /\ b \in running /\ running' = running \ {b} /\ holds' = {x \in holds : x[1] # b}
          /\ UNCHANGED <<flying, stopped, said, inherited>>
\* code: LeaseRow.stop
Stop(b) == /\ b \notin running /\ b \notin stopped /\ stopped' = stopped \cup {b}
           /\ UNCHANGED <<holds, flying, running, said, inherited>>
\* A running broker that reaches the store for a moment can say it too.
\* not built: the statement
Say(b, o) == /\ b # o /\ b \in running /\ <<b, o>> \notin holds /\ <<b, o>> \notin said /\ said' = said \cup {<<b, o>>}
             /\ UNCHANGED <<holds, flying, running, stopped, inherited>>
\* code: LeaseRow.inheritable
Inherit(o) == /\ o \in stopped \ inherited
              /\ Off("statements") \/ \A b \in Side \ {o} : b \in stopped \/ <<b, o>> \in said
              /\ inherited' = inherited \cup {o}
              /\ UNCHANGED <<holds, flying, running, stopped, said>>

Next == \E b \in Side : \/ End(b) \/ Stop(b) \/ Inherit(b)
                        \/ \E o \in Side : Take(b, o) \/ Say(b, o) \/ \E c \in Side : Hand(b, c, o)
Spec == Init /\ [][Next]_vars

UsedOnce == Cardinality({x \in holds : x[1] \in running}) + Cardinality(inherited) <= Cardinality(Side)
Symmetry == Permutations(Side)
=============================================================================

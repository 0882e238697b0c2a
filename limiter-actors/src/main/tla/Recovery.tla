------------------------------ MODULE Recovery ------------------------------
(***************************************************************************)
(* One holder's journal, write by write.  A write goes out under the next  *)
(* number; it may land at once, late, or never, and its answer may be lost. *)
(* Whoever does not know what became of a write ends, replays the journal  *)
(* (perhaps a stale prefix of it) and writes Recovered before it uses      *)
(* anything.  Its gate goes on all the while, past the lease with the kept *)
(* account.  An heir closes the journal, takes over the leased account and *)
(* delivers what it finds in flight; the kept one only after a stop.       *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS Units,      \* of each account
          MaxEvents,  \* of the journal, without Fenced
          Broken

Accounts == {"leased", "kept"}
Off(rule) == rule \in Broken

VARIABLES
    log,        \* the journal as the store has it
    late,       \* <<number, event>>: sent, and not known to have landed
    known,      \* how much of the journal the present ledger has applied
    state,      \* IDLE, WRITING, ENDED, CLOSED
    writing,    \* the event under way
    count,      \* numbers of events, so that no two are equal
    up, lease, shut, gate,
    row, took,  \* the row's state; accounts that were inherited
    given,      \* debits that were credited elsewhere
    back        \* the transfer to this holder was refunded by its sender

vars == <<log, late, known, state, writing, count, up, lease, shut, gate, row, took, given, back>>

Nothing == <<"nothing", "leased", 0>>
Kind(e) == e[1]
Closed == log # <<>> /\ Kind(log[Len(log)]) = "fenced"
Prefix(n) == SubSeq(log, 1, n)
Number(kind, a, l) == Cardinality({i \in 1..Len(l) : Kind(l[i]) = kind /\ l[i][2] = a})
Share(l, a) == Units + Number("credited", a, l) - Number("debited", a, l)
Shares(l) == [a \in Accounts |-> Share(l, a)]
\* What can no longer land is forgotten.
Still(l, w) == {x \in w : x[1] > Len(l)}

Init ==
    /\ log = <<>> /\ late = {} /\ known = 0 /\ state = "IDLE" /\ writing = Nothing /\ count = 1
    /\ up = TRUE /\ lease = TRUE /\ shut = FALSE /\ gate = [a \in Accounts |-> Units]
    /\ row = "LIVE" /\ took = {} /\ given = {} /\ back = FALSE

\* part: sends a write
Writes(e, n) == /\ writing' = e /\ state' = "WRITING" /\ late' = late \cup {<<n, e>>} /\ count' = count + 1

\* Room for one more, whatever still lands.
Room == Len(log) < MaxEvents /\ count <= MaxEvents

\* code: Bookkeeper.debit, Bookkeeper.removed, Gate.remove
Debit(a) ==
    /\ up /\ ~shut /\ state = "IDLE" /\ gate[a] > 0 /\ Room
    /\ gate' = [gate EXCEPT ![a] = @ - 1]
    /\ Writes(<<"debited", a, count>>, known + 1)
    /\ UNCHANGED <<log, known, up, lease, shut, row, took, given, back>>

\* One transfer of a kept unit is on its way to this holder, again and again.
\* code: Bookkeeper.credit
Credit ==
    /\ up /\ ~shut /\ state = "IDLE" /\ Room /\ Number("credited", "kept", Prefix(known)) = 0
    /\ gate' = IF Off("writeFirst") THEN [gate EXCEPT !["kept"] = @ + 1] ELSE gate
    /\ Writes(<<"credited", "kept", count>>, known + 1)
    /\ UNCHANGED <<log, known, up, lease, shut, row, took, given, back>>

\* The store takes a number once.
\* code: Ledger.apply
Land == \E w \in late :
    /\ w[1] = Len(log) + 1 /\ ~Closed
    /\ log' = Append(log, w[2]) /\ late' = Still(log', late)
    /\ UNCHANGED <<known, state, writing, count, up, lease, shut, gate, row, took, given, back>>

\* code: Bookkeeper.committed, Gate.add, Gate.reset
Committed ==
    /\ up /\ state = "WRITING" /\ known < Len(log) /\ log[known + 1] = writing
    /\ known' = known + 1 /\ state' = "IDLE" /\ writing' = Nothing
    /\ gate' = CASE Kind(writing) = "credited" /\ ~Off("writeFirst") -> [gate EXCEPT ![writing[2]] = @ + 1]
                 [] Kind(writing) = "recovered" /\ ~Off("resetGate") -> Shares(Prefix(known + 1))
                 [] OTHER -> gate
    /\ UNCHANGED <<log, late, count, up, lease, shut, row, took, given, back>>

\* No answer; or the number is taken, by Fenced, or, while it recovers, by a write of a former life.  The ledger ends.
\* world: the store's answer is lost, late, or no
Unknown ==
    /\ up /\ state = "WRITING"
    /\ IF Off("absenceProvesNothing") /\ known = Len(log) /\ Kind(writing) = "debited"
       THEN /\ state' = "IDLE" /\ writing' = Nothing /\ gate' = [gate EXCEPT ![writing[2]] = @ + 1]
            /\ UNCHANGED <<known>>
       ELSE state' = "ENDED" /\ writing' = Nothing /\ known' = 0 /\ UNCHANGED <<gate>>
    /\ UNCHANGED <<log, late, count, up, lease, shut, row, took, given, back>>

\* A later life of the same incarnation's ledger.
\* code: Bookkeeper.recover, Lease.close
Recover == \E n \in 0..Len(log) :
    /\ up /\ state = "ENDED" /\ count <= MaxEvents
    /\ known' = n
    /\ IF n > 0 /\ Kind(log[n]) = "fenced"
       THEN state' = "CLOSED" /\ shut' = TRUE /\ UNCHANGED <<gate, late, writing, count>>
       ELSE IF Off("barrier")
       THEN state' = "IDLE" /\ gate' = Shares(Prefix(n)) /\ UNCHANGED <<shut, late, writing, count>>
       ELSE Writes(<<"recovered", "leased", count>>, n + 1) /\ UNCHANGED <<shut, gate>>
    /\ UNCHANGED <<log, up, lease, row, took, given, back>>

\* Once the journal says Debited, this holder sends it, or the heir that has adopted it.
\* code: Bookkeeper.resend
Arrives == \E i \in 1..Len(log) :
    /\ Kind(log[i]) = "debited" /\ log[i] \notin given
    /\ (up /\ i <= known /\ state \in {"IDLE", "WRITING"}) \/ "leased" \in took
    /\ given' = given \cup {log[i]}
    /\ UNCHANGED <<log, late, known, state, writing, count, up, lease, shut, gate, row, took, back>>

\* code: Lease.usable
LeaseEnds == /\ up /\ lease /\ lease' = FALSE
             /\ UNCHANGED <<log, late, known, state, writing, count, up, shut, gate, row, took, given, back>>
\* world: the process ends
Crash == /\ up /\ up' = FALSE /\ lease' = FALSE /\ gate' = [a \in Accounts |-> 0] /\ state' = "ENDED"
         /\ writing' = Nothing /\ known' = 0
         /\ UNCHANGED <<log, late, count, shut, row, took, given, back>>
\* code: LeaseRow.fence
Fence == /\ row = "LIVE" /\ ~lease /\ row' = "FENCED"
         /\ UNCHANGED <<log, late, known, state, writing, count, up, lease, shut, gate, took, given, back>>
\* code: LeaseRow.stop
Stopped == /\ row # "STOPPED" /\ (~up \/ shut) /\ row' = "STOPPED"
           /\ UNCHANGED <<log, late, known, state, writing, count, up, lease, shut, gate, took, given, back>>

\* Under the number that the closer finds free; met by another event, it reads again.
\* code: Inheritance.CloseJournal
Close == /\ row # "LIVE" /\ ~Closed
         /\ log' = Append(log, <<"fenced", "leased", 0>>) /\ late' = {}
         /\ UNCHANGED <<known, state, writing, count, up, lease, shut, gate, row, took, given, back>>

\* code: Inheritance.Inherit, Bookkeeper.inherit
Inherit(a) ==
    /\ Closed /\ a \notin took /\ (a = "leased" \/ row = "STOPPED")
    /\ took' = took \cup {a}
    /\ UNCHANGED <<log, late, known, state, writing, count, up, lease, shut, gate, row, given, back>>

\* The sender of the transfer to this holder finds that it never arrived.
\* code: Bookkeeper.destinationClosed
ComesBack == /\ Closed /\ ~back /\ Number("credited", "kept", log) = 0 /\ back' = TRUE
             /\ UNCHANGED <<log, late, known, state, writing, count, up, lease, shut, gate, row, took, given>>

Next == \/ \E a \in Accounts : Debit(a) \/ Inherit(a)
        \/ Credit \/ Land \/ Committed \/ Unknown \/ Recover \/ Arrives
        \/ LeaseEnds \/ Crash \/ Fence \/ Stopped \/ Close \/ ComesBack
Spec == Init /\ [][Next]_vars

Total == 2 * Units + 1
Usable == (IF up /\ ~shut THEN gate["kept"] + (IF lease THEN gate["leased"] ELSE 0) ELSE 0)
          + Cardinality(given) + (IF back THEN 1 ELSE 0)
          + (IF "leased" \in took THEN Share(log, "leased") ELSE 0)
          + (IF "kept" \in took THEN Share(log, "kept") ELSE 0)

\* C1: what can admit, here and elsewhere, is never more than there is.
UsedOnce == Usable <= Total

\* Between two decisions the gate holds exactly what the journal says: nothing is used too early, and nothing lost.
GateIsBook == up /\ ~shut /\ state = "IDLE" => gate = Shares(Prefix(known))

\* What was written by nobody but this holder is never a surprise to it, unless it recovers.
NoStranger == up /\ state = "WRITING" /\ known < Len(log) /\ log[known + 1] # writing
              => Kind(log[known + 1]) = "fenced" \/ Kind(writing) = "recovered"

\* C7: nothing follows Fenced.
FencedIsLast == \A i \in 1..Len(log) : Kind(log[i]) = "fenced" => i = Len(log)
=============================================================================

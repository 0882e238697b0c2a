------------------------------- MODULE Lease --------------------------------
(***************************************************************************)
(* Why a fence needs no synchronised clocks.  Time goes in steps.  The     *)
(* holder's clock may be slow and the watcher's fast, each by Drift over   *)
(* the time that is looked at.  A renewal counts from the holder's clock   *)
(* before it was sent; a sight of a row from the watcher's clock after the *)
(* answer came; messages to and from the store take any time.  The watcher *)
(* waits for Lease + 2 Drift with the same renewal in sight, and its fence *)
(* is conditional on that renewal.                                         *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS Length,    \* of a lease, on the holder's clock
          Drift,     \* of either clock over all
          Horizon,   \* how long to look
          Renewals,  \* how many may reach the store
          Broken

Off(rule) == rule \in Broken
None == 99
Patience == IF Off("fullWait") THEN Length - 1 ELSE IF Off("drift") THEN Length ELSE Length + 2 * Drift

VARIABLES
    now, slow, fast,   \* real time; how far the holder's clock is behind, and the watcher's ahead
    renewal,           \* of the row, in the store
    row,
    asking, granted,   \* the holder's clock when it sent the renewal that is under way; whether the store has it
    until,             \* the leased account is usable before this, on the holder's clock
    reading, answer,   \* the watcher's clock when it asked; the renewal in the answer that is under way
    sight, since       \* the renewal that the watcher has in sight, and since when on its clock
vars == <<now, slow, fast, renewal, row, asking, granted, until, reading, answer, sight, since>>

Mine == now + Drift - slow        \* the holder's clock
Theirs == now + fast              \* the watcher's

Init == /\ now = 0 /\ slow = 0 /\ fast = 0 /\ renewal = 0 /\ row = "LIVE" /\ asking = None /\ granted = FALSE
        /\ until = Length + Drift /\ reading = None /\ answer = None /\ sight = None /\ since = 0

\* world: time, and what is wrong with clocks
Tick == /\ now < Horizon /\ now' = now + 1
        /\ \E s \in {slow, slow + 1}, f \in {fast, fast + 1} :
              s <= Drift /\ f <= Drift /\ slow' = s /\ fast' = f
        /\ UNCHANGED <<renewal, row, asking, granted, until, reading, answer, sight, since>>

\* code: Lease.usable
Usable == Mine < until

\* world: a renewal leaves the holder
Ask == /\ asking = None /\ asking' = Mine /\ granted' = FALSE
       /\ UNCHANGED <<now, slow, fast, renewal, row, until, reading, answer, sight, since>>
\* code: LeaseRow.renew
Grant == /\ asking # None /\ ~granted /\ row = "LIVE" /\ renewal < Renewals /\ granted' = TRUE /\ renewal' = renewal + 1
         /\ UNCHANGED <<now, slow, fast, row, asking, until, reading, answer, sight, since>>
\* code: Lease.renewed
Renewed == /\ asking # None /\ granted
           /\ until' = (IF Off("clockBefore") THEN Mine ELSE asking) + Length /\ asking' = None /\ granted' = FALSE
           /\ UNCHANGED <<now, slow, fast, renewal, row, reading, answer, sight, since>>
\* world: an answer that never came: the next renewal goes out, and this one counts for nothing.
Lost == /\ asking # None /\ asking' = None /\ granted' = FALSE
        /\ UNCHANGED <<now, slow, fast, renewal, row, until, reading, answer, sight, since>>

\* world: a read leaves the watcher
Look == /\ reading = None /\ reading' = Theirs
        /\ UNCHANGED <<now, slow, fast, renewal, row, asking, granted, until, answer, sight, since>>
\* world: the store answers it
Answer == /\ reading # None /\ answer = None /\ answer' = renewal
          /\ UNCHANGED <<now, slow, fast, renewal, row, asking, granted, until, reading, sight, since>>
\* code: LeaseWatch.read
See == /\ answer # None /\ reading' = None /\ answer' = None
       /\ IF sight = answer THEN UNCHANGED <<sight, since>>
          ELSE sight' = answer /\ since' = IF Off("clockAfter") THEN reading ELSE Theirs
       /\ UNCHANGED <<now, slow, fast, renewal, row, asking, granted, until>>
\* A watcher that is new, or has read nothing for long, has nothing in sight.
\* code: LeaseWatch.read
Forget == /\ sight # None /\ sight' = None
          /\ UNCHANGED <<now, slow, fast, renewal, row, asking, granted, until, reading, answer, since>>
\* code: LeaseWatch.expired, LeaseRow.fence, LeaseWatch.waiting
Fence == /\ row = "LIVE" /\ sight # None /\ Theirs - since >= Patience /\ (sight = renewal \/ Off("sameRenewal"))
         /\ row' = "FENCED"
         /\ UNCHANGED <<now, slow, fast, renewal, asking, granted, until, reading, answer, sight, since>>

Next == Tick \/ Ask \/ Grant \/ Renewed \/ Lost \/ Look \/ Answer \/ See \/ Forget \/ Fence
Spec == Init /\ [][Next]_vars

\* C4: nothing is used past the fence, so an heir may begin.
NotBoth == row = "FENCED" => ~Usable
=============================================================================

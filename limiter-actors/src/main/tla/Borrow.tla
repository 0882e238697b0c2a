------------------------------- MODULE Borrow -------------------------------
(***************************************************************************)
(* Tokens that are borrowed, without the store.  Each tick refills every   *)
(* bucket by its rate; Debt is what the limit (r, b) still has to forget   *)
(* of what was admitted, so the bound over every interval is Debt <= b.    *)
(* A bucket is a broker's leased account.  All of it is true of the kept   *)
(* one too, also on a side that cannot reach the store: then Ends is that  *)
(* its gate is closed, and Renew never happens.  Supply passes to an heir, *)
(* and to a new incarnation, in one step: Supply.tla has the steps.        *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS Broker, Burst,   \* burst of each at first; the rate of each is one token a tick
          Asks,            \* how many requests an incarnation may make
          Lives, Broken
Off(rule) == rule \in Broken
Nobody == "nobody"

VARIABLES
    life, usable, left,  \* incarnation; whether its gate may use the account; brokers whose supply an heir has
    rate, burst, level,
    asks,                \* requests that this incarnation has made
    ask,                 \* the open one: id, asker and its life, peer, version, tokens; or none
    answered,            \* <<giver, its life, asker, its life, id>> that were answered: ids grow within a life
    mail,                \* requests and replies; lost by not being delivered
    version,             \* of the limit, as all know it
    debt
vars == <<life, usable, left, rate, burst, level, asks, ask, answered, mail, version, debt>>

Min(x, y) == IF x < y THEN x ELSE y
Above(x, y) == IF x > y THEN x - y ELSE 0
NoAsk == <<>>
Reserved(b) == IF ask[b] = NoAsk \/ Off("reserve") THEN 0 ELSE ask[b].tokens

Init == /\ life = [b \in Broker |-> 1] /\ usable = [b \in Broker |-> TRUE] /\ left = {}
        /\ rate = [b \in Broker |-> 1] /\ burst = [b \in Broker |-> Burst] /\ level = [b \in Broker |-> Burst]
        /\ asks = [b \in Broker |-> 0] /\ ask = [b \in Broker |-> NoAsk] /\ answered = {} /\ mail = {}
        /\ version = 1 /\ debt = 0

AllRate == Cardinality(Broker)
AllBurst == Burst * Cardinality(Broker)

\* Own refill stops where room is kept for what was asked.
\* code: Borrowing.reserve
Tick == /\ level' = [b \in Broker |-> IF level[b] + Reserved(b) >= burst[b] THEN level[b]
                                      ELSE Min(level[b] + rate[b], burst[b] - Reserved(b))]
        /\ debt' = Above(debt, AllRate)
        /\ UNCHANGED <<life, usable, left, rate, burst, asks, ask, answered, mail, version>>

\* code: Gate.take, Gate.confirm
Admit(b) == /\ usable[b] /\ level[b] > 0 /\ level' = [level EXCEPT ![b] = @ - 1] /\ debt' = debt + 1
            /\ UNCHANGED <<life, usable, left, rate, burst, asks, ask, answered, mail, version>>

\* code: Lending.ask, Borrowing.ask
Ask(b, c) ==
    /\ b # c /\ usable[b] /\ ask[b] = NoAsk /\ asks[b] < Asks /\ level[b] < burst[b]
    /\ LET a == [id |-> asks[b] + 1, from |-> b, fromLife |-> life[b], to |-> c,
                 version |-> version, tokens |-> burst[b] - level[b]]
       IN ask' = [ask EXCEPT ![b] = a] /\ mail' = mail \cup {[kind |-> "ask", body |-> a, given |-> 0]}
    /\ asks' = [asks EXCEPT ![b] = @ + 1]
    /\ UNCHANGED <<life, usable, left, rate, burst, level, answered, version, debt>>

\* The tokens leave the bucket before the reply does.  Past the lease nothing leaves it.
\* code: Lending.onRequest, Borrowing.onRequest
Lend(c) == \E m \in mail :
    /\ m.kind = "ask" /\ m.body.to = c /\ (usable[c] \/ Off("lendWithinLease"))
    /\ m.body.version = version
    /\ <<c, life[c], m.body.from, m.body.fromLife, m.body.id>> \notin answered
    /\ LET g == Min(level[c], m.body.tokens) IN
          /\ g > 0 /\ level' = [level EXCEPT ![c] = IF Off("debitFirst") THEN @ ELSE @ - g]
          /\ mail' = mail \cup {[kind |-> "reply", body |-> m.body, given |-> g]}
    /\ answered' = answered \cup {<<c, life[c], m.body.from, m.body.fromLife, m.body.id>>}
    /\ UNCHANGED <<life, usable, left, rate, burst, asks, ask, version, debt>>

\* A reply counts once, while its request is open, for the asker's same incarnation and version.  Which life of the
\* giver answered does not matter: it has debited a bucket of its own.
\* code: Lending.onReply, Borrowing.onReply, Borrowing.accepts
Take(b) == \E m \in mail :
    /\ m.kind = "reply" /\ m.body.from = b
    /\ m.body.fromLife = life[b] \/ Off("incarnation")
    /\ m.body.version = version
    /\ \/ ask[b] # NoAsk /\ ask[b].id = m.body.id /\ ask[b].to = m.body.to
       \/ Off("once")
    /\ level' = [level EXCEPT ![b] = Min(@ + m.given, burst[b])]
    /\ ask' = [ask EXCEPT ![b] = NoAsk]
    /\ UNCHANGED <<life, usable, left, rate, burst, asks, answered, mail, version, debt>>

\* Given up for its age, or because the bucket shrinks, or the peer or the limit is another now.
\* code: Lending.cancel, Lending.peerChanged, Borrowing.cancel
Cancel(b) == /\ ask[b] # NoAsk /\ ask' = [ask EXCEPT ![b] = NoAsk]
             /\ UNCHANGED <<life, usable, left, rate, burst, level, asks, answered, mail, version, debt>>

\* The lease ends and the bucket goes on filling; or the gate is closed for good.
\* code: Lease.usable, Lease.close
Ends(b) == /\ usable[b] /\ life[b] < Lives /\ usable' = [usable EXCEPT ![b] = FALSE]
           /\ UNCHANGED <<life, left, rate, burst, level, asks, ask, answered, mail, version, debt>>
\* code: LeaseRow.renew, Lease.renewed
Renew(b) == /\ ~usable[b] /\ b \notin left /\ usable' = [usable EXCEPT ![b] = TRUE]
            /\ UNCHANGED <<life, left, rate, burst, level, asks, ask, answered, mail, version, debt>>

\* The heir begins at level 0.  What a bucket of a former life still has must not come out of it any more.
\* code: Bookkeeper.inherit, Gate.add
Inherit(b, v) ==
    /\ b # v /\ usable[b] /\ ~usable[v] /\ v \notin left
    /\ left' = left \cup {v}
    /\ rate' = [rate EXCEPT ![b] = @ + rate[v]] /\ burst' = [burst EXCEPT ![b] = @ + burst[v]]
    /\ level' = IF Off("heirIsEmpty") THEN [level EXCEPT ![b] = @ + burst[v]] ELSE level
    /\ UNCHANGED <<life, usable, asks, ask, answered, mail, version, debt>>

\* A new incarnation has nothing, and its requests are numbered anew.
\* code: LeaseRow.registered
Begin(b) ==
    /\ b \in left /\ life[b] < Lives /\ left' = left \ {b}
    /\ life' = [life EXCEPT ![b] = @ + 1] /\ usable' = [usable EXCEPT ![b] = TRUE]
    /\ rate' = [rate EXCEPT ![b] = 0] /\ burst' = [burst EXCEPT ![b] = 0] /\ level' = [level EXCEPT ![b] = 0]
    /\ asks' = [asks EXCEPT ![b] = 0] /\ ask' = [ask EXCEPT ![b] = NoAsk]
    /\ UNCHANGED <<answered, mail, version, debt>>

\* Supply comes with its part of the level; a smaller bucket gives up what it asked for first.
\* code: Gate.remove, Gate.add, Lending.cancel
Move(b, c) ==
    /\ b # c /\ usable[b] /\ usable[c] /\ rate[b] > 1 /\ rate[c] = 0
    /\ LET along == Above(level[b], burst[b] - Burst) IN
          /\ level' = [level EXCEPT ![b] = @ - along, ![c] = @ + along]
          /\ rate' = [rate EXCEPT ![b] = @ - 1, ![c] = @ + 1]
          /\ burst' = [burst EXCEPT ![b] = @ - Burst, ![c] = @ + Burst]
    /\ ask' = IF Off("cancelFirst") THEN ask ELSE [ask EXCEPT ![b] = NoAsk]
    /\ UNCHANGED <<life, usable, left, asks, answered, mail, version, debt>>

\* The limit has another version with the same numbers.
\* code: Lending.version
Reversion == /\ version = 1 /\ version' = 2 /\ ask' = [b \in Broker |-> NoAsk]
             /\ UNCHANGED <<life, usable, left, rate, burst, level, asks, answered, mail, debt>>

Next == \/ Tick \/ Reversion
        \/ \E b \in Broker : \/ Admit(b) \/ Lend(b) \/ Take(b) \/ Cancel(b) \/ Ends(b) \/ Renew(b) \/ Begin(b)
                             \/ \E c \in Broker : Ask(b, c) \/ Inherit(b, c) \/ Move(b, c)
Spec == Init /\ [][Next]_vars

\* C1 over every interval.
HardBound == debt <= AllBurst
\* C5
WithinBurst == \A b \in Broker : level[b] <= burst[b]
Symmetry == Permutations(Broker)
=============================================================================

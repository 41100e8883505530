"""Columns of the integer tables that kernels read, and the codes that stand in them."""

from __future__ import annotations

# One row per relation. Rows are `arity` 32-bit ids each; a hash table holds one slot a row.
R_ROWS = 0  # address of uint32[capacity * arity]
R_N = 1  # rows so far
R_CAP = 2  # rows that fit before growth (storage and hash load)
R_ARITY = 3
R_MASK = 4  # address of uint16[capacity]: the sets each row is in
R_HKEYS = 5  # address of uint64[hash size]: the packed row (arity <= 2) or its hash
R_HROWS = 6  # address of uint32[hash size]: the row's number and 1, or 0
R_HSIZE = 7
R_START = 8  # rows when the evaluation began; later ones are fresh
R_OLD = 9  # rows before the delta, where the delta is the newest rows
R_DLIST = 10  # address of the delta's row numbers, or 0 for the range R_DLO..R_DHI
R_DLO = 11
R_DHI = 12  # with a list: its length, and R_DLO is 0
R_OUT = 13  # address of uint32: rows that joined the result and were there before
R_OUTN = 14
R_OUTCAP = 15
R_FAST = 16  # 1: a row that exists is never new (the guard is 'not in I', all rows are)
R_FULL = 17  # R_FULL + role: 1 where every row in reach is in that role's view
R_MULT = 24  # the hash table's multiplier
R_FILLED = 25  # rows whose numbers the hash table has
R_FRESH = 26  # address of a bitmap of the rows that this run added, or 0
R_NLIST = 27  # the delta of negated literals, as R_DLIST, R_DLO and R_DHI are the other's
R_NLO = 28
R_NHI = 29
R_COUNT = 30  # addresses of int32[capacity]: each row's derivations, by two kinds of rules
R_AGE = 32  # address of int32[capacity]: in which order rows came to the materialisation
R_SIDE = 33  # 0, or ROLES for relations that have views of their own
R_ODD = 34  # address of a bitmap of rows in other sets than plain ones are, or 0
R_WIDTH = 35
COUNTERS = 3  # the ages are one of them

# Roles of a body literal in an evaluation; each has a view (a truth table over masks).
ROLE_ALL = 0  # body facts in X
ROLE_OLD = 1  # body facts in X but not in the delta
ROLE_DELTA = 2  # the literal that ranges over the delta
ROLE_NEG = 3  # negated literals and aggregates
ROLE_HEADS = 4  # given heads, for provable and support
ROLE_NEG_DELTA = 5  # the negated literal that ranges over the delta of its kind
ROLE_NEG_OLD = 6  # negated literals that must not meet that delta
ROLES = 7

# One row per index: key columns to a vector of the remaining columns.
X_REL = 0
X_SLOTS = 1  # address of slots, SLOT 32-bit words each
X_SIZE = 2
X_USED = 3
X_LIMIT = 4  # distinct keys that fit before growth
X_ARENA = 5  # address of uint32: the vectors
X_TOP = 6
X_CAP = 7
X_FREE = 8  # address of int64[48]: heads of free lists, one a size class
X_NKEY = 9
X_STRIDE = 10
X_COLS = 11  # address of int64[arity]: key columns, then the others
X_DONE = 12  # rows indexed so far
X_MARK = 13  # rows indexed when the epoch began
X_EPOCH = 14
X_WIDTH = 16

# A slot of an index, in 32-bit words: key (2), offset, length, length before the epoch, epoch.
SLOT = 6
S_OFF = 2
S_LEN = 3
S_OLD = 4
S_EPOCH = 5

# One row per step of a plan.
P_OP = 0
P_REL = 1
P_IDX = 2
P_ROLE = 3
P_ARGS = 4  # where its arguments start in `args`
P_NKEY = 5
P_NCOL = 6
P_FLAG = 7
P_BACK = 8  # the step to go back to
P_FUSE = 9
P_A = 10
P_B = 11
P_PRE = 12  # what of the next step to prefetch
P_PRE_ID = 13  # the relation or index
P_PRE_N = 14  # columns of its key
P_PRE_A_HOW = 15
P_PRE_A = 16
P_PRE_B_HOW = 17
P_PRE_B = 18
P_TESTED = 19  # 1: the next step is a member test, done within this one's loop
P_WIDTH = 20

PRE_NONE = 0
PRE_MEMBER = 1
PRE_INDEX = 2
PRE_CONST = 0  # a part of the key is an id, a register, or a column of the present row
PRE_REG = 1
PRE_COLUMN = 2

OP_SCAN = 0
OP_LOOKUP = 1
OP_MEMBER = 2
OP_COMPUTE = 3
OP_COMPARE = 4
OP_RANGE = 5
OP_GROUP = 6
OP_EMIT = 7
OP_PROVE = 8
OP_SUPPORT = 9
OP_OLDER = 10
OP_MAKE = 11  # a term of its fields
OP_TAKE = 12  # the fields of a term
OP_FOUND = 13  # an instance, whose facts the next steps name: the run ends here for a while

FLAG_FIRST = 1  # one match is enough
FLAG_NEGATED = 2

FUSE_NONE = 0
FUSE_EMIT = 1  # the next step emits: loop here
FUSE_VALUE_SECOND = 2  # binary head (fixed, value)
FUSE_VALUE_FIRST = 3  # binary head (value, fixed)

# Arguments: (how, register or id) pairs.
A_BIND = 0
A_CHECK = 1
A_SKIP = 2
A_REG = 3
A_CONST = 4

# Environment.
E_WORDS = 0  # address of int64: words too large to be their own id
E_NWORDS = 1
E_CAPWORDS = 2
E_WHASH = 3  # address of uint32: word number + 1, 0 for empty
E_WHSIZE = 4
E_LABELS = 5  # address of int64: symbols in order
E_GUARD = 6  # address of the guard's truth table
E_OUTBIT = 7
E_TICKS = 8  # work left before the kernel returns to Python
E_GUARD_NEW = 9  # 1 if a fact that has no row yet passes the guard
E_NLABELS = 10
E_COUNTER = 11  # column of `rels` with the counters that heads change, or 0
E_SIGN = 12  # by how much
E_GUARD_PLAIN = 13  # 1 if a fact in the materialisation and no set of an update may pass it
E_VIEWS = 14  # E_VIEWS + side + role: address of that role's truth table
E_PLAIN = 28  # E_PLAIN + side + role: 1 where all such facts are in the role's view, -1 where none
E_CELLS = 42  # address of uint32: terms, each the way it is made and its fields' ids
E_CAPCELLS = 43
E_STARTS = 44  # address of int64: where each term starts, and the next one after the last
E_NTERMS = 45  # terms so far; the first, 0, is nil
E_CAPTERMS = 46
E_THASH = 47  # address of uint32: a term's number, 0 for empty
E_THSIZE = 48
E_ROUNDS = 49  # address of what rounds in the kernel need (W_...), or 0 for a single round
E_WIDTH = 50

# Rounds that the kernel runs one after the other.
W_PASSED = 0  # rounds begun after the first
W_ADDED = 1  # rows that these have in their deltas
W_ROOM = 2  # such rows, at most
W_LARGE = 3  # rows of one round, at most
W_NEW = 4  # the bit of the set that is the delta
W_BITS = 5  # this bit, and those of the sets that the delta joins
W_AGE = 6  # the next row's age
W_USED = 7  # address of the plans' relations, with what each is (U_...)
W_RELATIONS = 8  # how many
W_INDEXES = 9  # address of the plans' indexes
W_INDEXED = 10  # how many
W_BOUNDS = 11  # addresses of relations for whose sizes the plans were made, and of the bounds
W_LOW = 12
W_HIGH = 13
W_BOUNDED = 14  # how many
W_WIDTH = 15
U_HEAD = 1
U_MEMBER = 2  # its facts are looked up one by one
U_COVERED = 4  # all plans that read its delta are there

# Where an interrupted run goes on.
T_PLAN = 0
T_STEP = 1
T_ENTERING = 2
T_WHAT = 3  # the relation to grow, or the step that has found an instance
T_BUFFERED = 4  # heads that wait in the buffer
T_DRAIN = 5  # 1: the plan is through but for the buffer
T_WIDTH = 6
BUFFER = 128  # heads that wait while their cache lines are on the way

DONE = 0
GROW_ROWS = 1
GROW_WORDS = 2
GROW_OUT = 3
PAUSE = 4
DIVISION = 5
POWER = 6
CONVERSION = 7
GROW_TERMS = 8
FOUND = 9

# Kinds of words.
KIND_NUMBER = 0
KIND_UNSIGNED = 1
KIND_FLOAT = 2
KIND_SYMBOL = 3

C_EQ = 0
C_NE = 1
C_LT = 2
C_LE = 3
C_GT = 4
C_GE = 5

G_COUNT = 0
G_SUM = 1
G_MIN = 2
G_MAX = 3
G_MEAN = 4

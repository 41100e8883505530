import numpy as np
from numpy.typing import NDArray
Pairs = NDArray[np.uint32]
def arr(s): return np.array(sorted(s), dtype=np.uint32).reshape(-1,2)
class Reachability:
    sym=False
    def __init__(self): self.X=set(); self.C=set()
    def close(self, X):
        C=set(X)
        if self.sym: C|={(b,a) for a,b in C}
        while True:
            N={(a,d) for a,b in C for c,d in C if b==c}-C
            if not N: return C
            C|=N
    def insert(self, e):
        self.X|={tuple(x) for x in e.tolist()}; C=self.close(self.X); n=C-self.C; self.C=C; return arr(n)
    def delete(self, e):
        self.X-={tuple(x) for x in e.tolist()}; C=self.close(self.X); n=self.C-C; self.C=C; return arr(n)
    def contains(self, p): return np.array([tuple(x) in self.C for x in p.tolist()],dtype=bool)
    def affected(self, e):
        out=set()
        for a,b in e.tolist():
            if self.sym:
                U={x for x,y in self.C if y==a or y==b}|{a,b}
                out|={(u,w) for u in U for w in U}
            else:
                U={x for x,y in self.C if y==a}|{a}; W={y for x,y in self.C if x==b}|{b}
                out|={(u,w) for u in U for w in W}
        return arr(out)
class Components(Reachability): sym=True

"""Fitting problems like those that systems biology publishes, for measuring how often random starts find the optimum: pathway
models of 8 to 30 states, 11 to 40 parameters on log10 scales between 1e-5 and 1e5 with standard deviations among them, several
conditions, and combinations of parameters that the data do not determine. The models are new, but of the form of the papers
named below; their data are simulated.

SPDX-License-Identifier: BSD-3-Clause
"""
import dataclasses
import re
import subprocess

import h5py
import numpy as np
from scipy.integrate import solve_ivp

import helpers as h

LOWER, UPPER = 1e-5, 1e5


@dataclasses.dataclass
class Problem:
    """`truth`: the parameters that simulate the data; `conditions`: covariates of each experiment; `body`: the model's text
    without its parameters. Every observable is measured at all times of every condition."""
    name: str
    body: str
    truth: dict
    conditions: dict
    times: list
    seed: int = 1

    def text(self):
        names = "\n".join(f"parameter {name} = 1 in [{LOWER:g}, {UPPER:g}] scale log10" for name in self.truth)
        covariates = "".join(f"covariate {name}\n" for name in self.conditions)
        return f"model {self.name}\n{names}\n{covariates}{self.body}"

    def observables(self):
        return [line.split()[1] for line in self.body.splitlines() if line.startswith("observe")]

    def covariates(self):
        return np.column_stack(list(self.conditions.values())).astype(float)

    def simulate(self, p, rtol=1e-9):
        """Predictions and noise at natural parameters p by SciPy, from the same text read as Python, which must define names
        before it uses them. Rows in the order condition, time, observable."""
        text = self.body.replace("^", "**")
        statements = [part.strip() for line in text.splitlines() for part in line.split(";") if part.strip()]
        slopes, initial, plain, seen = {}, {}, [], []
        for statement in statements:
            found = re.fullmatch(r"(?:observe )?(\w+)(\(0\)|')? = (.*?)(?: sd (.*))?", statement)
            name, kind, formula, sigma = found.groups()
            if sigma:
                seen.append((compile(formula, name, "eval"), compile(sigma, name, "eval")))
            elif kind:
                (initial if kind == "(0)" else slopes)[name] = compile(formula, name, "eval")
            else:
                plain.append((name, compile(formula, name, "eval")))
        names, rows = list(slopes), []
        for condition in self.covariates():
            known = {"exp": np.exp, "log10": np.log10} | dict(zip(self.truth, p)) | dict(zip(self.conditions, condition))

            def at(t, y, known=known):
                values = known | dict(zip(names, y), t=t)
                for name, code in plain:
                    values[name] = eval(code, values)  # pylint: disable=eval-used
                return values

            start = [float(eval(initial[name], dict(known))) for name in names]  # pylint: disable=eval-used
            size = max(1.0, *np.abs(start))

            def rhs(t, y, at=at):
                values = at(t, y)
                return [eval(slopes[name], values) for name in names]  # pylint: disable=eval-used

            solved = solve_ivp(rhs, (0, self.times[-1]), start, "LSODA", self.times, rtol=rtol, atol=1e-12 * rtol * size)
            assert solved.success, solved.message
            for t, y in zip(solved.t, solved.y.T):
                values = at(t, y)
                rows += [[float(eval(code, values)) for code in pair] for pair in seen]  # pylint: disable=eval-used
        return np.array(rows).T


def akt():
    """After Fujita et al. 2010: EGF to Akt and S6, six doses."""
    return Problem("akt", """
bind = kon*egf*R - koff*C
activate = kphos*C
meet = ka*pR*A - kd*pRA
send = kcat*pRA
reach = kas*pA*S - kds*pAS
mark = kcats*pAS
R(0) = R0;  R' = kt*(R0 - R) - bind
C(0) = 0;   C' = bind - activate
pR(0) = 0;  pR' = activate - meet + send - kdeg*pR
A(0) = A0;  A' = kdA*pA - meet
pRA(0) = 0; pRA' = meet - send
pA(0) = 0;  pA' = send - reach + mark - kdA*pA
S(0) = S0;  S' = kdS*pS - reach
pAS(0) = 0; pAS' = reach - mark
pS(0) = 0;  pS' = mark - kdS*pS
observe receptor = sR*(pR + pRA) sd nR
observe kinase = sA*(pA + pAS) sd nA
observe target = sS*pS sd nS
""", {"kon": 0.02, "koff": 0.05, "kphos": 0.3, "ka": 0.002, "kd": 0.03, "kcat": 0.4, "kas": 0.004, "kds": 0.05, "kcats": 0.6,
      "kt": 0.01, "kdeg": 0.2, "kdA": 0.15, "kdS": 0.08, "R0": 80, "A0": 60, "S0": 100, "sR": 0.1, "sA": 0.05, "sS": 0.02,
      "nR": 0.05, "nA": 0.05, "nS": 0.05},
        {"egf": [0.1, 0.3, 1, 3, 10, 30]}, [0, 1, 2, 5, 10, 15, 30, 60])


def stat5():
    """After Boehm et al. 2014: two isoforms of STAT5 that form homo- and heterodimers."""
    return Problem("stat5", """
epo = dose*exp(-kdeg*t)
aa = kphos*epo*A^2
ab = kphos*epo*A*B
bb = kphos*epo*B^2
A(0) = 207.6*rA/(1 + rA); A' = -2*aa - ab + 2*xh*nAA + xe*nAB
B(0) = 207.6/(1 + rA);    B' = -2*bb - ab + 2*xh*nBB + xe*nAB
AA(0) = 0;  AA' = aa - ih*AA
AB(0) = 0;  AB' = ab - ie*AB
BB(0) = 0;  BB' = bb - ih*BB
nAA(0) = 0; nAA' = ih*AA - xh*nAA
nAB(0) = 0; nAB' = ie*AB - xe*nAB
nBB(0) = 0; nBB' = ih*BB - xh*nBB
observe pA = 100*(2*AA + AB)/(2*AA + AB + A + 1e-6) sd nA
observe pB = 100*(2*BB + AB)/(2*BB + AB + B + 1e-6) sd nB
observe share = 100*(2*AA + AB + A + 1e-6)/(2*AA + 2*AB + 2*BB + A + B + 2e-6) sd nS
""", {"kdeg": 0.027, "kphos": 1.6e-3, "xh": 0.0065, "xe": 2e-5, "ih": 500, "ie": 0.016, "rA": 2, "nA": 3.8, "nB": 6.6,
      "nS": 3.1},
        {"dose": [0.3, 1.25]}, [0, 2.5, 5, 10, 15, 20, 30, 40, 60, 80, 100, 120, 160, 200, 240])


def mapk():
    """After Kholodenko 2000: a cascade of three kinases with saturated enzymes and negative feedback."""
    return Problem("mapk", """
v1 = V1*dose*X/((1 + Zpp/Ki)*(K1 + X))
v2 = V2*Xp/(K2 + Xp)
v3 = k3*Xp*Y/(K3 + Y)
v4 = k4*Xp*Yp/(K4 + Yp)
v5 = V5*Ypp/(K5 + Ypp)
v6 = V6*Yp/(K6 + Yp)
v7 = k7*Ypp*Z/(K7 + Z)
v8 = k8*Ypp*Zp/(K8 + Zp)
v9 = V9*Zpp/(K9 + Zpp)
v10 = V10*Zp/(K10 + Zp)
X(0) = 100;  X' = v2 - v1
Xp(0) = 0;   Xp' = v1 - v2
Y(0) = 300;  Y' = v6 - v3
Yp(0) = 0;   Yp' = v3 + v5 - v4 - v6
Ypp(0) = 0;  Ypp' = v4 - v5
Z(0) = 300;  Z' = v10 - v7
Zp(0) = 0;   Zp' = v7 + v9 - v8 - v10
Zpp(0) = 0;  Zpp' = v8 - v9
observe raf = Xp sd nX
observe mek = sY*Ypp sd nY
observe erk = sZ*Zpp sd nZ
""", {"V1": 2.5, "Ki": 30, "K1": 10, "V2": 0.25, "K2": 8, "k3": 0.05, "K3": 15, "k4": 0.05, "K4": 15, "V5": 0.75, "K5": 15,
      "V6": 0.75, "K6": 15, "k7": 0.05, "K7": 15, "k8": 0.05, "K8": 15, "V9": 0.5, "K9": 15, "V10": 0.5, "K10": 15,
      "sY": 0.01, "sZ": 0.01, "nX": 2, "nY": 0.05, "nZ": 0.05},
        {"dose": [0.1, 0.3, 1, 3]}, [0, 2, 5, 10, 15, 20, 30, 45, 60, 90])


def socs():
    """After Bachmann et al. 2011: JAK2 and STAT5 with two delayed, transcribed inhibitors."""
    chain = "".join(f"s{i}(0) = 0; s{i}' = kdel*({'srna' if i == 1 else f's{i - 1}'} - s{i})\n" for i in range(1, 6))
    return Problem("socs", chain + """
slow = 1 + SOCS/Ks
R(0) = 4;      R' = koff*pR*(1 + ks*P) - kon*epo*R/slow
pR(0) = 0;     pR' = kon*epo*R/slow - koff*pR*(1 + ks*P)
P(0) = 0;      P' = kp*pR*(27 - P) - kpd*P
S(0) = 80;     S' = kexp*nS/0.4 - kst*pR*S/(slow*(1 + CIS/Kc))
pS(0) = 0;     pS' = kst*pR*S/(slow*(1 + CIS/Kc)) - kimp*pS
nS(0) = 0;     nS' = kimp*pS*0.4 - kexp*nS
crna(0) = 0;   crna' = kc*act*nS - kcd*crna
c1(0) = 0;     c1' = kcdel*(crna - c1)
c2(0) = 0;     c2' = kcdel*(c1 - c2)
CIS(0) = 0;    CIS' = kct*c2 - kctd*CIS
srna(0) = 0;   srna' = kso*act*nS - ksd*srna
SOCS(0) = 0;   SOCS' = kt*s5 - ktd*SOCS
observe receptor = sR*pR sd nR
observe stat = sS*(pS + nS/0.4) sd nS1
observe nucleus = nS sd nN
observe cisrna = sC*crna sd nC
observe socsrna = sO*srna sd nO
observe cis = sP*CIS sd nP
""", {"kon": 0.1, "koff": 0.06, "ks": 0.5, "kp": 0.005, "kpd": 0.01, "kst": 0.03, "kimp": 0.03, "kexp": 0.08, "Ks": 3, "Kc": 5,
      "kc": 0.05, "kcd": 0.03, "kcdel": 0.1, "kct": 0.1, "kctd": 0.02, "kso": 0.04, "ksd": 0.04, "kdel": 0.15, "kt": 0.1,
      "ktd": 0.03, "sR": 0.5, "sS": 0.02, "sC": 1, "sO": 1, "sP": 0.2, "nR": 0.05, "nS1": 0.05, "nN": 0.5, "nC": 0.1,
      "nO": 0.1, "nP": 0.1},
        {"epo": [0.2, 1, 5], "act": [1, 1, 0]}, [0, 3, 6, 10, 15, 20, 30, 45, 60, 90, 120, 180])


def carotene():
    """After Bruno et al. 2016: cleavage of carotenoids by one enzyme, a substrate in each condition."""
    return Problem("carotene", """
B(0) = b;   B' = -(k1 + k2)*B
Z(0) = z;   Z' = -(k3 + k4)*Z
C(0) = c;   C' = -(k5 + k6)*C
B10(0) = p; B10' = k1*B + k5*C - k7*B10
O10(0) = q; O10' = k3*Z + k6*C - k8*O10
I(0) = 0;   I' = k1*B + k2*B + k7*B10 - k9*I
O(0) = 0;   O' = k3*Z + k4*Z + k8*O10 - k10*O
U(0) = 0;   U' = k9*I + k10*O - k11*U
observe yB = B sd nB
observe yZ = Z sd nB
observe yC = C sd nB
observe yB10 = B10 sd nP
observe yO10 = O10 sd nP
observe yI = s*I sd nI
""", {"k1": 0.09, "k2": 0.002, "k3": 0.05, "k4": 0.03, "k5": 0.12, "k6": 0.04, "k7": 0.01, "k8": 0.2, "k9": 0.05, "k10": 0.03,
      "k11": 0.01, "s": 0.7, "nB": 0.3, "nP": 0.2, "nI": 0.2},
        {"b": [8, 0, 0, 0, 0], "z": [0, 7, 0, 0, 0], "c": [0, 0, 9, 0, 0], "p": [0, 0, 0, 6, 0], "q": [0, 0, 0, 0, 6]},
        [0, 3, 6, 10, 15, 25, 40, 60])


def infection():
    """After Crauste et al. 2017: T cells that expand, contract and become memory while a pathogen is cleared."""
    return Problem("infection", """
load = P/(Kp + P)
N(0) = 8090;  N' = -muN*N - dNE*load*N
E(0) = 0;     E' = dNE*load*N + rE*load*E - muE*E - dEL*E
L(0) = 0;     L' = dEL*E - muL*L - muLE*E*L/1e6 - dLM*L
M(0) = 0;     M' = dLM*L - muM*M
P(0) = dose;  P' = P*(rP - muPE*E/1e4 - muPI*I - muPB*B)
I(0) = 0;     I' = kI*load - muI*I
H(0) = 0;     H' = kH*load - muH*H
B(0) = 0;     B' = kB*H - muB*B
observe naive = log10(N + 1) sd n1
observe effector = log10(E + 1) sd n2
observe late = log10(L + 1) sd n3
observe memory = log10(M + 1) sd n3
observe pathogen = log10(P + 1e-3) sd n4
""", {"muN": 0.01, "dNE": 0.03, "Kp": 2, "rE": 1.2, "muE": 0.1, "dEL": 0.2, "muL": 0.05, "muLE": 0.3, "dLM": 0.08, "muM": 0.002,
      "rP": 1.5, "muPE": 0.3, "muPI": 0.3, "muPB": 0.2, "kI": 0.5, "muI": 0.3, "kH": 0.3, "muH": 0.3, "kB": 0.5, "muB": 0.1,
      "n1": 0.1, "n2": 0.1, "n3": 0.1, "n4": 0.2},
        {"dose": [0.1, 1, 10]}, [1, 3, 5, 7, 9, 12, 15, 20, 28, 40])


def receptor():
    """After Becker et al. 2010: binding, uptake, recycling and degradation of a ligand, three doses, with and without a
    blocker of degradation."""
    return Problem("receptor", """
on = kon*L*R
L(0) = dose;  L' = koff*LR + kex*LRi*0.1 - on
R(0) = Bmax;  R' = koff*LR + kt*Bmax - kt*R + kex*LRi - on
LR(0) = 0;    LR' = on - koff*LR - ke*LR
LRi(0) = 0;   LRi' = ke*LR - kex*LRi - (kdi + kde)*block*LRi - kv*LRi
V(0) = 0;     V' = kv*LRi - kvd*block*V
dLi(0) = 0;   dLi' = kdi*block*LRi + kvd*block*V
dLe(0) = 0;   dLe' = kde*block*LRi
T(0) = 0;     T' = ks*LR - ksd*T
observe medium = L + dLe sd nM
observe surface = LR sd nS
observe cell = LRi + V + dLi sd nC
observe signal = g*T sd nT
""", {"kon": 0.0001, "koff": 0.017, "kt": 0.03, "Bmax": 500, "ke": 0.07, "kex": 0.01, "kdi": 0.003, "kde": 0.016, "kv": 0.02,
      "kvd": 0.01, "ks": 0.2, "ksd": 0.1, "g": 0.01, "nM": 8, "nS": 5, "nC": 5, "nT": 0.05},
        {"dose": [300, 1000, 3000, 1000], "block": [1, 1, 1, 0.05]}, [0, 1, 3, 6, 10, 20, 40, 60, 120, 200])


def cascade():
    """Thirty states, forty parameters: six kinases in a row, each marked twice, and three genes with their products."""
    body, last, truth = "", "dose*exp(-kin*t)", {"kin": 0.02}
    for i in range(1, 7):
        feedback = "/(1 + Q3/Kf)" if i == 2 else ""
        body += (f"u{i} = a{i}*{last}*X{i}{feedback}; w{i} = b{i}*{last}*Y{i}{feedback}\n"
                 f"X{i}(0) = 1; X{i}' = d{i}*Y{i} - u{i}\n"
                 f"Y{i}(0) = 0; Y{i}' = u{i} - d{i}*Y{i} - w{i} + e{i}*Z{i}\n"
                 f"Z{i}(0) = 0; Z{i}' = w{i} - e{i}*Z{i}\n")
        truth |= {f"a{i}": 0.3 + 0.1*i, f"b{i}": 0.5 - 0.05*i, f"d{i}": 0.1 + 0.02*i, f"e{i}": 0.2 - 0.02*i}
        last = f"Z{i}"
    for i in range(1, 4):
        body += (f"m{i}(0) = 0; m{i}' = g{i}*Z6 - h{i}*m{i}\nq{i}(0) = 0; q{i}' = kd*(m{i} - q{i})\n"
                 f"p{i}(0) = 0; p{i}' = kd*(q{i} - p{i})\nQ{i}(0) = 0; Q{i}' = kp*p{i} - kq*Q{i}\n")
        truth |= {f"g{i}": 0.1*i, f"h{i}": 0.05*i}
    body += """
observe first = Z1 sd n1
observe third = s3*Z3 sd n1
observe fifth = Z5 sd n1
observe sixth = s6*Z6 sd n1
observe gene1 = m1 sd n2
observe gene2 = m2 sd n2
observe gene3 = m3 sd n2
observe product = Q3 sd n2
"""
    truth |= {"kd": 0.2, "kp": 0.3, "kq": 0.05, "Kf": 1, "s3": 2, "s6": 0.5, "n1": 0.02, "n2": 0.05}
    return Problem("cascade", body, truth, {"dose": [0.2, 0.5, 2]}, [0, 2, 5, 10, 15, 20, 30, 40, 60, 80, 120])


def il13():
    """After Raia et al. 2011: interleukin 13, JAK2 and STAT5 with a decoy receptor and an induced inhibitor."""
    return Problem("il13", """
slow = 1 + ki*SOCS
bind = kon*il*R
R(0) = 1.3;   R' = krec*Ri - kint*R - bind
Ri(0) = 0.8;  Ri' = kint*R - krec*Ri
C(0) = 0;     C' = bind - kcp*C*pJ
pC(0) = 0;    pC' = kcp*C*pJ - kpi*pC
pCi(0) = 0;   pCi' = kpi*pC - kpd*pCi
J(0) = 2.8;   J' = kjd*pJ - kj*(C + pC)*J/slow
pJ(0) = 0;    pJ' = kj*(C + pC)*J/slow - kjd*pJ
S(0) = 165;   S' = ksd*pS - ks*pJ*S
pS(0) = 0;    pS' = ks*pJ*S - ksd*pS
D(0) = 0.34;  D' = -kdec*il*D
ID(0) = 0;    ID' = kdec*il*D
m(0) = 0;     m' = km*pS - kmd*m
SOCS(0) = 0;  SOCS' = kt*m/(Kt + m) - ktd*SOCS
g(0) = 0;     g' = kg*pS - kgd*g
observe surface = R + C + pC sd nR
observe bound = C + pC + pCi + ID sd nB
observe chain = sC*(pC + pCi) sd nC
observe kinase = sJ*pJ sd nJ
observe stat = sS*pS sd nS
observe inducible = m sd nM
observe inhibitor = sI*SOCS sd nI
observe gene = g sd nG
""", {"kon": 0.02, "krec": 0.03, "kint": 0.1, "kcp": 1, "kpi": 0.15, "kpd": 0.2, "kj": 0.15, "kjd": 0.1, "ki": 2, "ks": 0.02,
      "ksd": 0.03, "kdec": 0.005, "km": 0.002, "kmd": 0.02, "kt": 0.1, "Kt": 0.5, "ktd": 0.05, "kg": 0.0005, "kgd": 0.01,
      "sC": 2, "sJ": 1.5, "sS": 0.05, "sI": 1, "nR": 0.05, "nB": 0.05, "nC": 0.05, "nJ": 0.1, "nS": 0.15, "nM": 0.1, "nI": 0.05,
      "nG": 0.05},
        {"il": [0.5, 2, 8]}, [0, 3, 5, 7, 10, 15, 20, 30, 45, 60, 90, 120])


def histone():
    """After Zheng et al. 2012: a histone with up to three methyl groups at one site and two at another, which slow each other
    down, in two cell lines that differ in an enzyme."""
    body, slow, slower = "", ["1", "f1", "f2"], ["1", "g1", "g2", "g3"]
    for i in range(4):
        for j in range(3):
            gain = (["grow"] * (i == j == 0) + [f"a{i}*act*{slow[j]}*M{i - 1}{j}"] * (i > 0) + [f"c*M{i + 1}{j}"] * (i < 3)
                    + [f"b{j}*{slower[i]}*M{i}{j - 1}"] * (j > 0) + [f"d*M{i}{j + 1}"] * (j < 2))
            loss = (["grow"] + [f"a{i + 1}*act*{slow[j]}"] * (i < 3) + ["c"] * (i > 0)
                    + [f"b{j + 1}*{slower[i]}"] * (j < 2) + ["d"] * (j > 0))
            body += f"M{i}{j}(0) = {int(i == j == 0)}; M{i}{j}' = {' + '.join(gain)} - ({' + '.join(loss)})*M{i}{j}\n"
    body += "".join(f"observe y{i}{j} = M{i}{j} sd n{1 if i + j < 2 else 2}\n" for i in range(4) for j in range(3))
    return Problem("histone", "\n" + body,
                   {"a1": 0.5, "a2": 0.3, "a3": 0.1, "b1": 0.2, "b2": 0.05, "f1": 0.6, "f2": 0.2, "g1": 0.8, "g2": 0.4,
                    "g3": 0.1, "c": 0.02, "d": 0.03, "grow": 0.04, "n1": 0.02, "n2": 0.005},
                   {"act": [1, 5]}, [0, 1, 2, 4, 8, 16, 32, 64])


PROBLEMS = {problem.__name__: problem for problem in (akt, stat5, mapk, socs, carotene, infection, receptor, cascade, il13,
                                                          histone)}


class Bridge:
    """Predictions and their derivatives by natural parameters, from this program's engine through bench_fit_bridge: what AMICI
    is to pyPESTO. Rows are in the order condition, time, observable."""

    def __init__(self, problem, plugin, rtol=1e-8, engine="cvodes"):
        self.n, self.n_observable = len(problem.truth), len(problem.observables())
        self.n_row = len(problem.times) * self.n_observable * len(problem.covariates())
        self.process = subprocess.Popen([str(h.BUILD / "bench" / "bench_fit_bridge"), str(plugin), engine, f"{rtol:g}"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        covariates = problem.covariates()
        self._send([*covariates.shape, len(problem.times), *covariates.ravel(), *problem.times])

    def _send(self, numbers):
        self.process.stdin.write(np.asarray(numbers, float).tobytes())
        self.process.stdin.flush()

    def __call__(self, p):
        """prediction, noise (n_row each), d prediction, d noise (n_row x n), seconds of CPU; None if it failed."""
        self._send(p)
        size = self.n_row * (2 + 2 * self.n) + 2
        answer = np.frombuffer(self.process.stdout.read(8 * size), float)
        if answer[0] != 0:
            return None
        values = answer[2:2 + 2 * self.n_row]
        slopes = answer[2 + 2 * self.n_row:].reshape(2, self.n, self.n_row).transpose(0, 2, 1)
        return values[:self.n_row], values[self.n_row:], slopes[0], slopes[1], answer[1]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def build(problem, folder):
    """The model's text and plugin."""
    text = folder / f"{problem.name}.ode"
    text.write_text(problem.text(), encoding="ascii")
    plugin = folder / f"{problem.name}.so"
    h.stiffit("model", "build", text, "-o", plugin)
    return text, plugin


def measure(problem):
    """Simulated measurements."""
    prediction, noise = problem.simulate(list(problem.truth.values()))
    rng = np.random.default_rng(problem.seed)
    return prediction + noise * rng.standard_normal(len(prediction))


def write(path, problem, plugin, y):
    """One dataset with an experiment for each condition."""
    covariates, n_time, n_observable = problem.covariates(), len(problem.times), len(problem.observables())
    n = len(covariates)
    with h5py.File(path, "w") as f:
        text = h5py.string_dtype()
        f.attrs["stiffit_file"], f.attrs["format"] = "problem", 1
        f.create_group("model").attrs["plugin"] = str(plugin)
        f.create_dataset("datasets/id", data=["d0"], dtype=text)
        f["experiments/dataset"] = np.zeros(n, int)
        f.create_dataset("experiments/covariate_names", data=list(problem.conditions), dtype=text)
        f["experiments/covariates"] = covariates
        f["measurements/experiment"] = np.repeat(np.arange(n), n_time * n_observable)
        f["measurements/time"] = np.tile(np.repeat(np.asarray(problem.times, float), n_observable), n)
        f["measurements/observable"] = np.tile(np.arange(n_observable), n * n_time)
        f.create_dataset("measurements/observable_names", data=problem.observables(), dtype=text)
        f["measurements/value"] = y
    return path

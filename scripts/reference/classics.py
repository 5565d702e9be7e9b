"""The classic stiff problems once more, in Python and by index instead of by name: what the references are made from.

SPDX-License-Identifier: BSD-3-Clause

PROBLEMS: name -> a dict of
    rhs         f(t, y, p); the entries of y and t may be arrays of one shape, real or complex
    states, parameters, p, y0, times
    floor       what of each state counts as nothing
    observe     (name, {state: factor}) of each observable; without: the states
    published   index of a state -> its end value as printed
    breaks      times at which the solution is not smooth
    stages, tol of the collocation; scipy: "Radau" where LSODA fails; band: of the Jacobian, for LSODA
    differences parameters whose sensitivities are compared with differences; without: all
    file        name of the reference
"""
import numpy as np


def robertson(t, y, p):
    a, b, c = p[0] * y[0], p[1] * y[1] * y[2], p[2] * y[1] ** 2
    return [b - a, a - b - c, c]


def hires(t, y, p):
    k1, k2, k3, k4, k5, k6, k_bind, k_free, k_leave, supply = p
    bound = k_bind * y[5] * y[7] - (k2 + k_free + k_leave) * y[6]
    return [-k1 * y[0] + k2 * y[1] + k6 * y[2] + supply, k1 * y[0] - (k2 + k3) * y[1],
            -(k6 + k1) * y[2] + k2 * y[3] + k5 * y[4], k3 * y[1] + k1 * y[2] - (k4 + k2) * y[3],
            -(k5 + k1) * y[4] + k2 * y[5] + k2 * y[6],
            -k_bind * y[5] * y[7] + k4 * y[3] + k1 * y[4] - k2 * y[5] + k_free * y[6], bound, -bound]


# Reactions of POLLU as (reactants, products), species counted from 1 as in Verwer (1994).
POLLU_REACTIONS = [
    ([1], [2, 3]), ([2, 4], [1]), ([5, 2], [1, 6]), ([7], [5, 5, 8]), ([7], [8]), ([7, 6], [5, 8]), ([9], [10, 5, 8]),
    ([9, 6], [11]), ([11, 2], [1, 10, 12]), ([11, 1], [13]), ([13], [1, 11]), ([10, 2], [14, 1]), ([14], [7, 5]),
    ([1, 6], [15]), ([3], [4]), ([4], [16]), ([4], [3]), ([16], [6, 6]), ([16], [3]), ([17, 6], [18, 5]), ([19], [2]),
    ([19], [1, 3]), ([1, 4], [19]), ([19, 1], [20]), ([20], [19, 1])]


def pollu(t, y, p):
    out = [0 * y[0] for _ in range(20)]
    for k, (reactants, products) in zip(p, POLLU_REACTIONS):
        rate = k
        for i in reactants:
            rate = rate * y[i - 1]
        for i in reactants:
            out[i - 1] = out[i - 1] - rate
        for i in products:
            out[i - 1] = out[i - 1] + rate
    return out


def oregonator(t, y, p):
    return [p[0] * (y[1] + y[0] * (1 - p[1] * y[0] - y[1])), (y[2] - (1 + y[0]) * y[1]) / p[0], p[2] * (y[0] - y[2])]


def vdpol(t, y, p):
    return [y[1], ((1 - y[0] ** 2) * y[1] - y[0]) / p[0]]


def e5(t, y, p):
    """y1, y2 and y4 alone: y3 = y2 - y4 at all times, and its small difference would be lost in rounding."""
    y1, y2, y4 = y[0], y[1], y[2]
    y3 = y2 - y4
    a, b = p[0] * y1, p[1] * y1 * y3
    return [-a - b, a - p[3] * p[2] * y2 * y3, b - p[2] * y4]


def ring_modulator(t, y, p):
    C, Cs, Cp, R, Rp, Lh, gamma, delta = p
    Ls1, Ls2, Ls3, Rg1, Rg2, Rg3, Ri, Rc = 0.002, 5e-4, 5e-4, 36.3, 17.3, 17.3, 50, 600
    pi = np.longdouble("3.14159265358979323846264338327950288")
    t = np.asarray(t)
    low, high = np.sin(2000 * pi * t) / 2, 2 * np.sin(20000 * pi * t)
    q = [gamma * (np.exp(delta * u) - 1) for u in (
        y[2] - y[4] - y[6] - high, -y[3] + y[5] - y[6] - high, y[3] + y[4] + y[6] + high, -y[2] - y[5] + y[6] + high)]
    return [(y[7] - y[9] / 2 + y[10] / 2 + y[13] - y[0] / R) / C, (y[8] - y[11] / 2 + y[12] / 2 + y[14] - y[1] / R) / C,
            (y[9] - q[0] + q[3]) / Cs, (-y[10] + q[1] - q[2]) / Cs, (y[11] + q[0] - q[2]) / Cs,
            (-y[12] - q[1] + q[3]) / Cs, (-y[6] / Rp + q[0] + q[1] - q[2] - q[3]) / Cp, -y[0] / Lh, -y[1] / Lh,
            (y[0] / 2 - y[2] - Rg2 * y[9]) / Ls2, (-y[0] / 2 + y[3] - Rg3 * y[10]) / Ls3,
            (y[1] / 2 - y[4] - Rg2 * y[11]) / Ls2, (-y[1] / 2 + y[5] - Rg3 * y[12]) / Ls3,
            (-y[0] + low - (Ri + Rg1) * y[13]) / Ls1, (-y[1] - (Rc + Rg1) * y[14]) / Ls1]


def chemical_akzo_nobel(t, y, p):
    k1, k2, k3, k4, K, klA, H = p
    root = np.sqrt(y[1])
    r = [k1 * y[0] ** 4 * root, k2 * y[2] * y[3], k2 / K * y[0] * y[4], k3 * y[0] * y[3] ** 2, k4 * y[5] ** 2 * root]
    return [-2 * r[0] + r[1] - r[2] - r[3], -r[0] / 2 - r[3] - r[4] / 2 + klA * (0.9 / H - y[1]), r[0] - r[1] + r[2],
            -r[1] + r[2] - 2 * r[3], r[1] - r[2] + r[4], -r[4]]


def diurnal(t, y, p):
    t = np.asarray(t)
    pi = np.longdouble("3.14159265358979323846264338327950288")
    sun = np.sin(pi * t / 43200)
    day = np.where(sun > 0, 1, 0)
    sun = np.where(sun > 0, sun, 1)
    k3, k4 = day * np.exp(-p[2] / sun), day * np.exp(-p[3] / sun)
    lost, made = p[1] * y[0] * y[1], p[0] * y[0] * 3.7e16
    # The model's two states more: the sun's sine and cosine, which only keep an integrator's steps short.
    return [-made - lost + 2 * k3 * 3.7e16 + k4 * y[1], made - lost - k4 * y[1], pi / 43200 * y[3], -pi / 43200 * y[2]]


def second_difference(x, left, right):
    wide = np.concatenate([left, x, right])
    return wide[:-2] - 2 * x + wide[2:]


def brusselator(t, y, p):
    u, v = y[0::2], y[1::2]
    n, one = len(u), np.ones_like(y[:1])
    scale = p[2] * (n + 1) ** 2
    out = np.empty_like(u * scale, shape=y.shape)
    out[0::2] = p[0] + u * u * v - (p[1] + 1) * u + scale * second_difference(u, one, one)
    out[1::2] = p[1] * u - u * u * v + scale * second_difference(v, 3 * one, 3 * one)
    return out


def cusp(t, z, p):
    y, a, b = z[0::3], z[1::3], z[2::3]
    n = len(y)
    u = (y - 0.7) * (y - 1.3)
    v = u / (u + 0.1)
    scale = p[1] * n ** 2
    out = np.empty_like(y * scale, shape=z.shape)
    for k, (x, slope) in enumerate([(y, -(y ** 3 + a * y + b) / p[0]), (a, b + 0.07 * v),
                                    (b, (1 - a * a) * b - a - 0.4 * y + 0.035 * v)]):
        out[k::3] = slope + scale * second_difference(x, x[-1:], x[:1])
    return out


def medical_akzo_nobel(t, y, p):
    k, c, inflow = p
    u, v = y[0::2], y[1::2]
    n = len(u)
    outside = np.broadcast_to(np.where(np.asarray(t) <= 5, inflow, 0 * inflow), y[:1].shape)
    z = (np.arange(1, n + 1, dtype=np.longdouble) / n).reshape((n,) + (1,) * (y.ndim - 1))
    z = z if y.dtype == np.longdouble else z.astype(float)
    wide = np.concatenate([outside, u, u[-1:]])
    out = np.empty_like(u * k, shape=y.shape)
    out[1::2] = -k * u * v
    out[0::2] = ((z - 1) ** 3 / c ** 2 * n * (wide[2:] - wide[:-2]) + (z - 1) ** 4 / c ** 2 * n ** 2
                 * second_difference(u, wide[:1], wide[-1:])) + out[1::2]
    return out


def numbered(names, n):
    return [f"{name}{i}" for i in range(1, n + 1) for name in names.split()]


def ring(n):
    angle = 2 * np.pi * np.arange(1, n + 1) / n
    return np.column_stack([0 * angle, -2 * np.cos(angle), 2 * np.sin(angle)]).ravel()


PROBLEMS = {
    "robertson": dict(
        rhs=robertson, states="y1 y2 y3", parameters="p1 p2 p3", p=[0.04, 1e4, 3e7], y0=[1, 0, 0], file="reference-late.csv",
        scipy="Radau",
        times=[0, 0.4, 40, 4e3, 4e5, 4e7, 4e9, 1e11], floor=[1e-12, 1e-18, 1e-12],
        observe=[("y1", {"y1": 1}), ("y2e4", {"y2": 1e4}), ("y3", {"y3": 1})],
        published=dict(zip(range(3), "0.2083340149701255e-7 0.8333360770334713e-13 0.9999999791665050".split()))),
    "hires": dict(
        rhs=hires, states="Pr Pfr PrX PfrX PrX2 PfrX2 PfrX2E E",
        parameters="k1 k2 k3 k4 k5 k6 k_bind k_free k_leave supply",
        p=[1.71, 0.43, 8.32, 0.69, 0.035, 8.32, 280, 0.69, 0.69, 0.0007], y0=[1, 0, 0, 0, 0, 0, 0, 0.0057],
        times=[0, 0.01, 0.1, 1, 5, 20, 100, 200, 300, 320, 321.8122], floor=[1e-8] * 8, published=dict(zip(range(8), """
            0.7371312573325668e-3 0.1442485726316185e-3 0.5888729740967575e-4 0.1175651343283149e-2 0.2386356198831331e-2
            0.6238968252742796e-2 0.2849998395185769e-2 0.2850001604814231e-2""".split()))),
    "pollu": dict(
        rhs=pollu, differences=[0, 2, 14, 18, 22],
        states="NO2 NO O3P O3 HO2 OH HCHO CO ALD MeO2 C2O3 CO2 PAN CH3O HNO3 O1D SO2 SO4 NO3 N2O5",
        parameters=" ".join(f"k{i}" for i in range(1, 26)),
        p=[0.35, 26.6, 1.23e4, 8.6e-4, 8.2e-4, 1.5e4, 1.3e-4, 2.4e4, 1.65e4, 9e3, 0.022, 1.2e4, 1.88, 1.63e4, 4.8e6, 3.5e-4,
           0.0175, 1e8, 4.44e11, 1.24e3, 2.1, 5.78, 0.0474, 1.78e3, 3.12],
        scipy="Radau", y0=[0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0],
        times=[0, 1e-3, 0.1, 1, 5, 20, 60], floor=[1e-7, 1e-7, 1e-14, 1e-7, 1e-12, 1e-12, 1e-7, 1e-7, 1e-7, 1e-13, 1e-13,
                                                   1e-8, 1e-8, 1e-10, 1e-8, 1e-22, 1e-8, 1e-8, 1e-11, 1e-10],
        published=dict(zip(range(20), """
            0.5646255480022769e-1 0.1342484130422339 0.4139734331099427e-8 0.5523140207484359e-2 0.2018977262302196e-6
            0.1464541863493966e-6 0.7784249118997964e-1 0.3245075353396018 0.7494013383880406e-2 0.1622293157301561e-7
            0.1135863833257075e-7 0.2230505975721359e-2 0.2087162882798630e-3 0.1396921016840158e-4 0.8964884856898295e-2
            0.4352846369330103e-17 0.6899219696263405e-2 0.1007803037365946e-3 0.1772146513969984e-5
            0.5682943292316392e-4""".split()))),
    "oregonator": dict(
        rhs=oregonator, states="y1 y2 y3", parameters="s q w", p=[77.27, 8.375e-6, 0.161], y0=[1, 2, 3],
        times=[0, 1, 5, 20, 60, 120, 180, 240, 300, 330, 360], floor=[1e-3, 1e-3, 1e-3],
        published=dict(zip(range(3), "0.1000814870318523e1 0.1228178521549917e4 0.1320554942846706e3".split()))),
    "vdpol": dict(
        rhs=vdpol, states="y1 y2", parameters="epsilon", p=[1e-6], y0=[2, 0], scipy="Radau",
        times=[0, 1e-6, 0.1, 0.5, 0.8, 0.81, 1, 1.6, 2], floor=[1e-3, 1e-3],
        published=dict(zip(range(2), "0.1706167732170469e1 -0.8928097010248125".split()))),
    "e5": dict(
        rhs=e5, states="y1 y2 y4", parameters="A B C M", p=[7.89e-10, 1.1e7, 1.13e3, 1e6], y0=[1.76e-3, 0, 0], scipy="Radau",
        times=[0, 1e-3, 1, 1e2, 1e4, 1e6, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13], floor=[1e-30, 1e-28, 1e-32],
        observe=[("y1", {"y1": 1}), ("y2", {"y2": 1}), ("y3", {"y2": 1, "y4": -1}), ("y4", {"y4": 1})],
        published={1: "0.8867655517642120e-22"}),
    "ring-modulator": dict(
        rhs=ring_modulator, states="U1 U2 U3 U4 U5 U6 U7 I1 I2 I3 I4 I5 I6 I7 I8", parameters="C Cs Cp R Rp Lh gamma delta",
        stages=9, tol=1e-10, differences=[0],
        p=[1.6e-8, 2e-12, 1e-8, 25e3, 50, 4.45, 40.67286402e-9, 17.7493332], y0=[0] * 15,
        times=[0, 1e-5, 1e-4, 2e-4, 3e-4, 5e-4, 7e-4, 1e-3], floor=[1e-2] * 7 + [1e-8, 1e-8] + [1e-5] * 6,
        published=dict(zip(range(15), """
            -0.2339057358486745e-1 -0.7367485485540825e-2 0.2582956709291169 -0.4064465721283450 -0.4039455665149794
            0.2607966765422943 0.1106761861269975 0.2939904342435596e-6 -0.2840029933642329e-7 0.7267198267264553e-3
            0.7929487196960840e-3 -0.7255283495698965e-3 -0.7941401968526521e-3 0.7088495416976114e-4
            0.2390059075236570e-4""".split()))),
    "chemical-akzo-nobel": dict(
        rhs=chemical_akzo_nobel, states="FLB CO2 FLBT ZHU ZLA salt", parameters="k1 k2 k3 k4 K klA H",
        p=[18.7, 0.58, 0.09, 0.42, 34.4, 3.3, 737], y0=[0.437, 0.00123, 0, 0, 0, 0.367],
        times=[0, 0.1, 1, 5, 20, 60, 120, 180], floor=[1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6],
        published=dict(zip(range(6), """0.1161602274780192 0.1119418166040848e-2 0.1621261719785814
            0.3396981299297459e-2 0.1646185108335055 0.1989533275954281""".split()))),
    "diurnal": dict(
        rhs=diurnal, states="O O3 sun noon", parameters="k1 k2 a3 a4", p=[1.63e-16, 4.66e-16, 22.62, 7.601],
        y0=[1e6, 1e12, 0, 1], observe=[("O", {"O": 1}), ("O3", {"O3": 1})],
        times=[0, 1, 7200, 14400, 21600, 28800, 36000, 64800, 108000, 194400, 280800, 367200, 432000],
        floor=[1e-2, 1e4, 1e-3, 1e-3],
        breaks=[43200 * k for k in range(1, 10)]),
    "brusselator": dict(
        rhs=brusselator, states=" ".join(numbered("u v", 40)), parameters="A B alpha", p=[1, 3, 0.02],
        y0=np.column_stack([1 + np.sin(2 * np.pi * np.arange(1, 41) / 41), np.full(40, 3.0)]).ravel(),
        times=[0, 0.1, 1, 3, 5, 7, 10], floor=[1e-3] * 80),
    "cusp": dict(
        rhs=cusp, states=" ".join(numbered("y a b", 32)), parameters="epsilon sigma", p=[1e-4, 1 / 144], y0=ring(32),
        times=[0, 1e-4, 1e-2, 0.1, 0.3, 0.6, 1.1], floor=[1e-2] * 96),
    "medical-akzo-nobel": dict(
        rhs=medical_akzo_nobel, states=" ".join(numbered("u v", 200)), parameters="k c inflow", p=[100, 4, 2],
        y0=[0, 1] * 200, band=2, differences=[0], times=[0, 0.1, 1, 5, 10, 20], breaks=[5], floor=[1e-8] * 400,
        observe=[(f"{a}{i}", {f"{a}{i}": 1}) for i in [1, 20, 40, 60, 80, 100] for a in "uv"],
        published={0: "0.5113983840919909e-5", 2: "0.1027858770570419e-4", 20: "0.5896840407836044e-4",
                   40: "0.1172444752530255e-3", 64: "0.1909208513890961e-3"}),
}

"""Every component family in several dimensions, for the contract tests."""

from pyroclust.distributions import (
    BernoulliBeta,
    MultinomialDirichlet,
    NormalIndependent,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalKnownVariance,
    PoissonGamma,
    Product,
    student_t,
    von_mises,
)

CONJUGATE = {
    "known_1": NormalKnownVariance(1, 3.0, scale=0.7),
    "known_3": NormalKnownVariance(3, 10.0, mean=4.0),
    "gamma_1": NormalInverseGamma(1, 0.05, shape=2.0, rate=0.1),
    "gamma_3": NormalInverseGamma(3, 0.5, shape=3.0, rate=2.0, mean=-2.0),
    "wishart_1": NormalInverseWishart(1, 0.05, dof=3.0, scale=0.1),
    "wishart_2": NormalInverseWishart(2, 0.5, dof=4.0, scale=0.3, mean=3.0),
    "wishart_3": NormalInverseWishart(3, 0.05, dof=5.0, scale=0.1),
    "independent_1": NormalIndependent(1.0, 4.0, shape=2.0, rate=1.0),
    "independent_2": NormalIndependent(-3.0, 0.5, shape=4.0, rate=2.0, dim=2),
    "bernoulli_1": BernoulliBeta(1, 0.6, beta=1.3),
    "bernoulli_4": BernoulliBeta(4),
    "poisson_1": PoissonGamma(1, 1.5, rate=0.8),
    "poisson_2": PoissonGamma(2, 3.0, rate=0.5),
    "multinomial_2": MultinomialDirichlet(2, 0.8),
    "multinomial_3": MultinomialDirichlet(3, 0.7, total=4),
    "product": Product(
        [NormalInverseGamma(2, 0.5, shape=3.0, rate=2.0), BernoulliBeta(1), PoissonGamma(1, 2.0, rate=1.0)]
    ),
}
NOT_CONJUGATE = {
    "student_t_1": student_t(),
    "student_t_2": student_t(2, dof=3.0),
    "von_mises_1": von_mises(),
    "von_mises_2": von_mises(2, shape=3.0, rate=1.0),
}
FAMILIES = CONJUGATE | NOT_CONJUGATE

# The families whose points are one of finitely many, with all of them.
FINITE = {
    "bernoulli_1": CONJUGATE["bernoulli_1"],
    "bernoulli_4": CONJUGATE["bernoulli_4"],
    "multinomial_2": CONJUGATE["multinomial_2"],
    "multinomial_3": CONJUGATE["multinomial_3"],
    "pair": Product([BernoulliBeta(1, 0.6, beta=1.3), MultinomialDirichlet(2, 0.8)]),
}

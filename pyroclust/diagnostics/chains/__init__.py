"""What MCMC draws are worth: functionals, convergence, and draws that can be taken as independent."""

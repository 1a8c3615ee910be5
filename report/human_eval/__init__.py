"""Human evaluation (Sec. 6.3): pages on which judges compare two systems blindly, and the tally of their answers."""

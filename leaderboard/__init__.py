"""Reading only: aggregate, test, rank, check, compare and render what the store and the claims hold."""

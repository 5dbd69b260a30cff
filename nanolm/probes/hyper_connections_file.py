MHC = ()

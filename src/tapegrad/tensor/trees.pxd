# The C types of trees.py.
cimport cython

cpdef bint is_array(value)
cpdef bint holds_array(tree)
cpdef list flat(tree)
cpdef collect(tree, list leaves)



@cython.locals(parts=list)
cpdef rebuilt(tree, items)

# The C types of namespaces.py.
cdef dict _known
cpdef namespace(array)
cpdef staged(list arrays, xp)

# The C types of namespaces.py.
cdef dict _known
cpdef namespace(array)

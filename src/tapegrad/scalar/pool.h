/* The pool of Var objects: a free list, so that recording on a reused tape makes no heap allocation.
 *
 * Cython's own freelist was tried first and costs more than the rest of an operation: it zeroes the object, registers
 * it with the garbage collector and fills its fields with None. A Var needs none of that: it points to its tape,
 * nothing points to a Var, so no cycle can pass through it. */
#ifndef TAPEGRAD_POOL_H
#define TAPEGRAD_POOL_H

#include <Python.h>
#include <stdint.h>

#define POOL_SIZE 8192 /* more than the live temporaries of any expression; 400 kB at most */

static PyObject *pool[POOL_SIZE];
static Py_ssize_t pooled = 0;

/* The layout of a Var and the start of a store, as variables.pxd and recording.pxd declare them; pool_install checks
 * the size. */
struct store_head {
    PyObject *owner;
    uint64_t generation;
};

struct var {
    PyObject_HEAD
    struct store_head *store;
    double number;
    uint64_t generation;
    int32_t index;
};

static inline int pool_any(void) { return pooled > 0; }

static inline PyObject *pool_fill(struct var *made, void *store, int32_t index, double number)
{
    made->store = (struct store_head *)store;
    made->number = number;
    made->generation = made->store->generation;
    made->index = index;
    Py_INCREF(made->store->owner);
    return (PyObject *)made;
}

/* A Var of the pool, which is not empty. It keeps its tape alive. */
static inline PyObject *pool_pop(void *store, int32_t index, double number)
{
    struct var *made = (struct var *)pool[--pooled];
    Py_SET_REFCNT(made, 1);
    return pool_fill(made, store, index, number);
}

/* A Var of the pool, or a new one. */
static inline PyObject *pool_take(PyTypeObject *type, void *store, int32_t index, double number)
{
    if (pool_any())
        return pool_pop(store, index, number);
    struct var *made = PyObject_New(struct var, type);
    return made ? pool_fill(made, store, index, number) : NULL;
}

/* tp_new of Var: from Python, a Var comes only from a tape. */
static PyObject *pool_refuse(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)type, (void)args, (void)kwargs;
    PyErr_SetString(PyExc_TypeError, "a Var is made by tape.var(value) or tape.const(value), not by Var()");
    return NULL;
}

/* tp_dealloc of Var. */
static void pool_give(PyObject *object)
{
    PyObject *owner = ((struct var *)object)->store->owner;
    if (pooled < POOL_SIZE)
        pool[pooled++] = object;
    else
        PyObject_Free(object);
    Py_DECREF(owner);
}

static inline int pool_install(PyTypeObject *type)
{
    if (type->tp_basicsize != sizeof(struct var)) {
        PyErr_SetString(PyExc_SystemError, "pool.h and variables.pxd disagree about the layout of Var");
        return -1;
    }
    type->tp_new = pool_refuse;
    type->tp_vectorcall = NULL; /* Cython's would go past tp_new */
    type->tp_dealloc = pool_give;
    return 0;
}

#endif

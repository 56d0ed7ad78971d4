/* A counter that several threads take numbers from, without a lock. */
#ifndef TAPEGRAD_COUNTER_H
#define TAPEGRAD_COUNTER_H

#include <Python.h>

#ifdef _MSC_VER
#include <intrin.h>
#endif

/* Adds `count`; the answer is what was there before. */
static inline Py_ssize_t take(Py_ssize_t *counter, Py_ssize_t count)
{
#if defined(_MSC_VER) && defined(_WIN64)
    return (Py_ssize_t)_InterlockedExchangeAdd64((volatile __int64 *)counter, count);
#elif defined(_MSC_VER)
    return (Py_ssize_t)_InterlockedExchangeAdd((volatile long *)counter, (long)count);
#else
    return __atomic_fetch_add(counter, count, __ATOMIC_RELAXED);
#endif
}

#endif

/* Special functions over arrays, for each of C's floating-point types.

   sigmoid   1/(1 + e^-x), with e^-|x|. Not with e^-x, which overflows below -709 where the result is still a number. In
             two loops: of one, the compiler makes a branch on the sign, which a processor guesses wrong half of the
             time, and no vectors.
   erf       the C library's, of doubles with its vector maths (blocks.c); of single precision too, which is then rounded
             once: the vector maths of single precision is wrong in all digits for numbers near 0. */

#include "kernels.h" /* BLOCK */

#define CHUNK 1024 /* numbers between the two loops: they stay in the first cache */

typedef long double extended;
typedef void (*loop)(const void *from, void *to, ptrdiff_t count);

#define SIGMOID_OF(type, suffix)                                                                                       \
    static void sigmoid_##type(const void *from, void *to, ptrdiff_t count)                                            \
    {                                                                                                                  \
        for (ptrdiff_t start = 0; start < count; start += CHUNK) {                                                     \
            const type *restrict x = (const type *)from + start;                                                       \
            type *restrict y = (type *)to + start;                                                                     \
            ptrdiff_t end = count - start < CHUNK ? count - start : CHUNK;                                             \
            for (ptrdiff_t k = 0; k < end; k++)                                                                        \
                y[k] = exp##suffix(-fabs##suffix(x[k]));                                                               \
            for (ptrdiff_t k = 0; k < end; k++)                                                                        \
                y[k] = (x[k] >= 0 ? 1 : y[k]) / (1 + y[k]);                                                            \
        }                                                                                                              \
    }
SIGMOID_OF(float, f)
SIGMOID_OF(double, )
SIGMOID_OF(extended, l)

static void (*vector_erf)(double *out, const double *in); /* of BLOCK numbers; set when the module is imported */

#define ERF_OF(type)                                                                                                   \
    static void erf_##type(const void *from, void *to, ptrdiff_t count)                                                \
    {                                                                                                                  \
        double numbers[BLOCK] = {0.0}, values[BLOCK];                                                                  \
        for (ptrdiff_t start = 0; start < count; start += BLOCK) {                                                     \
            const type *x = (const type *)from + start;                                                                \
            type *y = (type *)to + start;                                                                              \
            ptrdiff_t end = count - start < BLOCK ? count - start : BLOCK;                                             \
            for (ptrdiff_t k = 0; k < end; k++)                                                                        \
                numbers[k] = x[k];                                                                                     \
            vector_erf(values, numbers);                                                                               \
            for (ptrdiff_t k = 0; k < end; k++)                                                                        \
                y[k] = (type)values[k];                                                                                \
        }                                                                                                              \
    }
ERF_OF(float)
ERF_OF(double)

static void erf_extended(const void *from, void *to, ptrdiff_t count)
{
    for (ptrdiff_t k = 0; k < count; k++)
        ((extended *)to)[k] = erfl(((const extended *)from)[k]);
}

/* The loops of a function by NumPy's letter for the precision; NULL for all else. */
struct loops {
    loop f, d, g;
};
static const struct loops SIGMOIDS = {sigmoid_float, sigmoid_double, sigmoid_extended};
static const struct loops ERFS = {erf_float, erf_double, erf_extended};

static inline loop loop_of(const struct loops *loops, const char *format)
{
    if (format[0] == '\0' || format[1] != '\0') /* another byte order, or an array that is not aligned */
        return NULL;
    return format[0] == 'd' ? loops->d : format[0] == 'f' ? loops->f : format[0] == 'g' ? loops->g : NULL;
}

/* A number for a node of a graph (graph.py) that is seldom the same for two different ones. */
#ifndef TAPEGRAD_HASHING_H
#define TAPEGRAD_HASHING_H

#include <stdint.h>
#include <string.h>

static inline uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

/* Multiplying spreads each bit to those above it, and shifting brings them down again (splitmix64's constants). */
static inline uint64_t hash_of(int op, int32_t x, int32_t y, int32_t z, double number)
{
    uint64_t mixed = bits_of(number) ^ (uint64_t)op << 56;
    const int32_t operands[] = {x, y, z};
    for (int k = 0; k < 3; k++) {
        mixed = (mixed ^ (uint32_t)operands[k]) * 0x9E3779B97F4A7C15u;
        mixed ^= mixed >> 31;
    }
    mixed *= 0xBF58476D1CE4E5B9u;
    return mixed ^ mixed >> 32;
}

#endif

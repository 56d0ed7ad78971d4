/* Threads that wait for work of machine code, and do it together with the thread that calls for it. They never touch a
 * Python object, so whoever calls may hold the interpreter's lock. Python's own locks and threads are used because they
 * are there on every platform; they need no interpreter. */
#ifndef TAPEGRAD_CREW_H
#define TAPEGRAD_CREW_H

#include <Python.h>
#include <pythread.h>

typedef void (*tapegrad_work)(void *context, long long part);

typedef struct {
    PyThread_type_lock wake, done; /* both taken while a member rests */
    tapegrad_work work;
    void *context;
    long long part;
} tapegrad_member;

#define TAPEGRAD_MOST_MEMBERS 255

static tapegrad_member tapegrad_members[TAPEGRAD_MOST_MEMBERS];
static long long tapegrad_member_count;
static PyThread_type_lock tapegrad_crew_busy;

static void tapegrad_member_lives(void *given)
{
    tapegrad_member *member = given;
    for (;;) {
        PyThread_acquire_lock(member->wake, WAIT_LOCK);
        member->work(member->context, member->part);
        PyThread_release_lock(member->done);
    }
}

/* Starts members until there are so many, or the system has no more threads. */
static void tapegrad_crew_grow(long long wanted)
{
    while (tapegrad_member_count < wanted && tapegrad_member_count < TAPEGRAD_MOST_MEMBERS) {
        tapegrad_member *member = &tapegrad_members[tapegrad_member_count];
        member->wake = PyThread_allocate_lock();
        member->done = PyThread_allocate_lock();
        if (!member->wake || !member->done)
            return;
        PyThread_acquire_lock(member->wake, WAIT_LOCK);
        PyThread_acquire_lock(member->done, WAIT_LOCK);
        if (PyThread_start_new_thread(tapegrad_member_lives, member) == PYTHREAD_INVALID_THREAD_ID)
            return;
        tapegrad_member_count++;
    }
}

/* Does all parts of some work. While others use the crew, or where there are too few members, the caller does them. */
static void tapegrad_crew_run(tapegrad_work work, void *context, long long parts)
{
    long long given = 0, part;
    int ours = parts > 1 && tapegrad_crew_busy && PyThread_acquire_lock(tapegrad_crew_busy, NOWAIT_LOCK);
    if (ours) {
        tapegrad_crew_grow(parts - 1);
        given = parts - 1 < tapegrad_member_count ? parts - 1 : tapegrad_member_count;
        for (part = 1; part <= given; part++) {
            tapegrad_member *member = &tapegrad_members[part - 1];
            member->work = work;
            member->context = context;
            member->part = part;
            PyThread_release_lock(member->wake);
        }
    }
    work(context, 0);
    for (part = given + 1; part < parts; part++)
        work(context, part);
    for (part = 1; part <= given; part++)
        PyThread_acquire_lock(tapegrad_members[part - 1].done, WAIT_LOCK);
    if (ours)
        PyThread_release_lock(tapegrad_crew_busy);
}

/* At first, and in a process that was forked: the members have stayed behind. */
static void tapegrad_crew_begin(void)
{
    tapegrad_member_count = 0;
    tapegrad_crew_busy = PyThread_allocate_lock();
}

#endif

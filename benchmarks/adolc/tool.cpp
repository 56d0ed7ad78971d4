// ADOL-C as a tool of GradBench: a real one, in C++, for `gradmark run ... -e gradbench:...` (docs/guide/bridge.md).
//
// In: messages of GradBench's protocol on standard input, a line of JSON each. Out: an answer to each. The functions are
// written from their formulas, once, as templates of the kind of number: doubles for the function itself, ADOL-C's for its
// gradient. A gradient records the tape anew in every run, as a user does whose function has branches.
//
// Needs libadolc-dev and nlohmann-json3-dev of Debian; `make -C benchmarks/adolc` builds it.

#include <adolc/adolc.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using json = nlohmann::json;
using std::vector;

namespace {

template <typename T> double plain(const T& x);
template <> double plain(const double& x) { return x; }
template <> double plain(const adouble& x) { return x.value(); }

// log of a sum of exponentials, from the largest on. Which one that is is looked up on plain numbers.
template <typename T> T logsumexp(const vector<T>& xs) {
    size_t largest = 0;
    for (size_t k = 1; k < xs.size(); ++k)
        if (plain(xs[k]) > plain(xs[largest])) largest = k;
    T top = xs[largest], total = 0.0;
    for (const T& x : xs) total += exp(x - top);
    return log(total) + top;
}

struct Lse {
    static vector<double> inputs(const json& given) { return given["x"]; }
    explicit Lse(const json&) {}
    template <typename T> T operator()(const vector<T>& xs) const { return logsumexp(xs); }
};

struct Llsq {
    int n;
    static vector<double> inputs(const json& given) { return given["x"]; }
    explicit Llsq(const json& given) : n(given["n"]) {}
    template <typename T> T operator()(const vector<T>& xs) const {
        T total = 0.0;
        for (int i = 0; i < n; ++i) {
            double t = -1.0 + 2.0 * i / (n - 1), power = 1.0;
            T left = double((t > 0) - (t < 0));
            for (const T& x : xs) {
                left -= x * power;
                power *= t;
            }
            total += left * left;
        }
        return 0.5 * total;
    }
};

struct Det {
    int ell;
    static vector<double> inputs(const json& given) { return given["A"]; }
    explicit Det(const json& given) : ell(given["ell"]) {}
    template <typename T> T minor(const vector<T>& a, int row, const vector<int>& columns) const {
        if (columns.size() == 1) return a[row * ell + columns[0]];
        T total = 0.0;
        for (size_t place = 0; place < columns.size(); ++place) {
            vector<int> rest(columns);
            rest.erase(rest.begin() + place);
            T term = a[row * ell + columns[place]] * minor(a, row + 1, rest);
            if (place % 2) total -= term; else total += term;
        }
        return total;
    }
    template <typename T> T operator()(const vector<T>& a) const {
        vector<int> columns;
        for (int k = 0; k < ell; ++k) columns.push_back(k);
        return minor(a, 0, columns);
    }
};

// ADBench's network: weights of all layers and the extra parameters in one vector, as rows of 4b and of b.
struct Lstm {
    vector<vector<double>> state, text;
    size_t layers, bits;
    static vector<double> inputs(const json& given) {
        vector<double> all;
        for (const char* name : {"main_params", "extra_params"})
            for (const auto& row : given[name])
                for (double x : row) all.push_back(x);
        return all;
    }
    explicit Lstm(const json& given) : state(given["state"]), text(given["sequence"]) {
        layers = state.size() / 2;
        bits = text[0].size();
    }
    template <typename T> static T sigmoid(const T& x) { return 1.0 / (1.0 + exp(-x)); }
    template <typename T> T operator()(const vector<T>& all) const {
        const T* extra = all.data() + 8 * bits * layers;
        vector<vector<T>> hidden(layers), cells(layers);
        for (size_t k = 0; k < layers; ++k) {
            hidden[k].assign(state[2 * k].begin(), state[2 * k].end());
            cells[k].assign(state[2 * k + 1].begin(), state[2 * k + 1].end());
        }
        T total = 0.0;
        vector<T> xs(bits), ys(bits);
        for (size_t c = 0; c + 1 < text.size(); ++c) {
            for (size_t i = 0; i < bits; ++i) xs[i] = text[c][i] * extra[i];
            for (size_t k = 0; k < layers; ++k) {
                const T *weight = all.data() + 8 * bits * k, *bias = weight + 4 * bits;
                for (size_t i = 0; i < bits; ++i) {
                    T forget = sigmoid(T(xs[i] * weight[i] + bias[i]));
                    T enter = sigmoid(T(hidden[k][i] * weight[bits + i] + bias[bits + i]));
                    T leave = sigmoid(T(xs[i] * weight[2 * bits + i] + bias[2 * bits + i]));
                    T change = tanh(hidden[k][i] * weight[3 * bits + i] + bias[3 * bits + i]);
                    cells[k][i] = cells[k][i] * forget + enter * change;
                    hidden[k][i] = leave * tanh(cells[k][i]);
                }
                xs = hidden[k];
            }
            T normal = 2.0;
            for (size_t i = 0; i < bits; ++i) {
                ys[i] = xs[i] * extra[bits + i] + extra[2 * bits + i];
                normal += exp(ys[i]);
            }
            normal = log(normal);
            for (size_t i = 0; i < bits; ++i) total += text[c + 1][i] * (ys[i] - normal);
        }
        return total * (-1.0 / (bits * (text.size() - 1)));
    }
};

struct Hello {
    static vector<double> inputs(const json& given) { return {given.get<double>()}; }
    explicit Hello(const json&) {}
    template <typename T> T operator()(const vector<T>& xs) const { return xs[0] * xs[0]; }
};

using Clock = std::chrono::steady_clock;

// Runs as often and as long as the input says; the timings of all runs.
json timed(const json& given, const std::function<void()>& run) {
    long wanted = given.is_object() ? given.value("min_runs", 1L) : 1;
    double seconds = given.is_object() ? given.value("min_seconds", 0.0) : 0.0, spent = 0.0;
    json timings = json::array();
    for (long k = 0; k < wanted || spent < seconds; ++k) {
        auto start = Clock::now();
        run();
        auto taken = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
        timings.push_back({{"name", "evaluate"}, {"nanoseconds", taken}});
        spent += taken / 1e9;
    }
    return timings;
}

// Buffers of a tape, in entries. Those of ADOL-C are 65,536: what is longer would go through files.
struct Buffers {
    unsigned operations = 1 << 16, locations = 1 << 16, values = 1 << 16, taylors = 1 << 16;
};

// The tape that is timed, and one that is only measured: what was in files once stays there.
constexpr short TAPE = 1, MEASURED = 2;

template <typename Function>
double recorded(const Function& f, const vector<double>& x, const Buffers& buffers, short tape) {
    double value = 0.0;
    trace_on(tape, 1, buffers.operations, buffers.locations, buffers.values, buffers.taylors);
    vector<adouble> xs(x.size());
    for (size_t k = 0; k < x.size(); ++k) xs[k] <<= x[k];
    adouble y = f(xs);
    y >>= value;
    trace_off();
    return value;
}

// As large as this function needs, so that its tape stays in memory.
template <typename Function> Buffers sized(const Function& f, const vector<double>& x) {
    Buffers buffers;
    recorded(f, x, buffers, MEASURED);
    size_t counts[STAT_SIZE];
    tapestats(MEASURED, counts);
    removeTape(MEASURED, ADOLC_REMOVE_COMPLETELY);
    auto enough = [](size_t count) { return unsigned(count + count / 8 + 4096); };
    buffers.operations = enough(counts[NUM_OPERATIONS]);
    buffers.locations = enough(counts[NUM_LOCATIONS]);
    buffers.values = enough(counts[NUM_VALUES]);
    buffers.taylors = enough(counts[TAY_STACK_SIZE]);
    return buffers;
}

template <typename Function> json evaluated(const json& given, bool derivative) {
    Function f(given);
    vector<double> x = Function::inputs(given), slopes(x.size());
    double value = 0.0, one = 1.0;
    const Buffers buffers = derivative ? sized(f, x) : Buffers{};
    json timings = timed(given, [&] {
        if (!derivative) {
            value = f(x);
            return;
        }
        value = recorded(f, x, buffers, TAPE);
        fos_reverse(TAPE, 1, int(x.size()), &one, slopes.data());
    });
    json output = value;
    if (derivative) output = slopes;
    return {{"success", true}, {"output", output}, {"timings", timings}};
}

using Evaluate = json (*)(const json&, bool);
struct Eval {
    Evaluate evaluate;
    std::string primal, derivative;
};

const std::map<std::string, Eval> EVALS = {
    {"hello", {evaluated<Hello>, "square", "double"}},
    {"lse", {evaluated<Lse>, "primal", "gradient"}},
    {"llsq", {evaluated<Llsq>, "primal", "gradient"}},
    {"det", {evaluated<Det>, "primal", "gradient"}},
    {"lstm", {evaluated<Lstm>, "objective", "jacobian"}},
};

json answered(const json& message) {
    std::string kind = message["kind"];
    if (kind == "start") return {{"tool", "adol-c"}};
    if (kind != "define" && kind != "evaluate") return json::object();
    auto found = EVALS.find(message["module"]);
    if (found == EVALS.end()) return {{"success", false}, {"error", "no such module"}};
    if (kind == "define") return {{"success", true}};
    const Eval& eval = found->second;
    std::string function = message["function"];
    if (function != eval.primal && function != eval.derivative)
        return {{"success", false}, {"error", "no such function"}};
    json output = eval.evaluate(message["input"], function == eval.derivative);
    if (message["module"] == "hello" && function == "double") output["output"] = output["output"][0];
    return output;
}

}  // namespace

int main() {
    // ADOL-C leaves files of tapes behind: here they go with the worker's folder.
    if (const char* folder = std::getenv("GRADMARK_FOLDER"))
        if (chdir(folder) != 0) return 1;
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        json message = json::parse(line), answer = {{"id", message["id"]}};
        try {
            answer.update(answered(message));
        } catch (const std::exception& error) {
            answer.update({{"success", false}, {"error", error.what()}});
        }
        std::cout << answer.dump() << std::endl;
    }
}

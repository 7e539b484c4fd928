package import SheafDocument

/// Small sets of writes for `Enumeration`, which cover all pairs of kinds.
package enum EnumeratedWrites {
    package static let all = ["fields": fields, "counters": counters, "seeds": seeds]

    /// A field that is a register, a map, or both.
    package static let fields: [ModelWrite] = [
        .edit([.set(path: ["a"], to: 1)]),
        .edit([.set(path: ["a"], to: ["x": 2])]),
        .edit([.set(path: ["a", "x"], to: 3)]),
        .edit([.unset(path: ["a", "x"])]),
        .edit([.unset(path: ["a"])]),
        .insert(.of(("a", ["y": 4]))),
        .delete,
    ]

    /// Counters of both kinds and a register.
    package static let counters: [ModelWrite] = [
        .edit([.increment(path: ["a"], by: .integer(1))]),
        .edit([.restart(path: ["a"], with: .integer(10))]),
        .edit([.incrementOlder(path: ["a"], by: .integer(100))]),
        .edit([.set(path: ["a"], to: 5)]),
        .edit([.unset(path: ["a"], parts: .counter)]),
        .edit([.unset(path: ["a"])]),
        .delete,
    ]

    /// Seeds with different contents, and writes that replace or remove them.
    package static let seeds: [ModelWrite] = [
        .insertInitial(.of(("a", ["x": 1]))),
        .insertInitial(.of(("a", ["x": 2, "y": 3]), ("b", 1))),
        .insertInitial(.of(("a", 4))),
        .edit([.set(path: ["a", "x"], to: 5)]),
        .edit([.set(path: ["a"], to: [:])]),
        .edit([.unset(path: ["a", "x"])]),
        .edit([.unset(path: ["a"])]),
        .delete,
    ]
}

extension Object {
    /// Returns an object with these fields, for contexts without a type for a literal.
    package static func of(_ fields: (String, Value)...) -> Object { Object(fields) }
}

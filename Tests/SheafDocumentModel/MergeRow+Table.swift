import SheafDocument

extension MergeRow {
    /// Returns a write that sets one path.
    private static func set(_ path: String..., to value: Value) -> ModelWrite {
        .edit([.set(path: path, to: value)])
    }

    /// All cases of concurrent writes.
    package static let table: [MergeRow] = registers + maps + counters + documents + initials

    private static let registers = [
        MergeRow(
            "of two values the later wins",
            base: [.insert(.of())], left: [set("s", to: "A")], right: [set("s", to: "B")],
            order: .rightLater, value: ["s": "B"]),
        MergeRow(
            "of two arrays the later wins as one value",
            base: [.insert(.of(("l", [0])))],
            left: [set("l", to: [1, 2, 3])], right: [set("l", to: [4])],
            order: .rightLater, value: ["l": [4]]),
        MergeRow(
            "a later array is visible, and the hidden object is kept",
            base: [.insert(.of())], left: [set("f", to: ["x": 1])], right: [set("f", to: [1])],
            order: .rightLater, value: ["f": [1]],
            parts: [
                PartValue(["f"], .map, ["x": 1]), PartValue(["f"], .register, [1]),
                PartValue(["f"], .counter, nil),
            ]),
        MergeRow(
            "a later object is visible, and the hidden array is kept",
            base: [.insert(.of())], left: [set("f", to: [1])], right: [set("f", to: ["x": 1])],
            order: .rightLater, value: ["f": ["x": 1]],
            parts: [PartValue(["f"], .map, ["x": 1]), PartValue(["f"], .register, [1])]),
        MergeRow(
            "of a value and an object with the same stamp the value is visible",
            left: [.edit([.set(path: ["f"], to: ["x": 1]), .set(path: ["f"], to: 5)])],
            right: [.insertInitial(.of(("f", 1)))],
            value: ["f": 5], parts: [PartValue(["f"], .map, ["x": 1])]),
    ]

    private static let maps = [
        MergeRow(
            "two fields of one object are both set",
            base: [.insert(.of(("obj", ["a": 1])))],
            left: [set("obj", "a", to: 2)], right: [set("obj", "b", to: 3)],
            value: ["obj": ["a": 2, "b": 3]]),
        MergeRow(
            "two fields of a new object are both set",
            base: [.insert(.of())],
            left: [set("obj", "a", to: 2)], right: [set("obj", "b", to: 3)],
            value: ["obj": ["a": 2, "b": 3]]),
        MergeRow(
            "an object and a field of it are both set",
            base: [.insert(.of())],
            left: [set("obj", to: ["a": 10])], right: [set("obj", "b", to: 20)],
            value: ["obj": ["a": 10, "b": 20]]),
        MergeRow(
            "a set field survives the removal of its object",
            base: [.insert(.of(("obj", ["a": 1, "b": 2])))],
            left: [.edit([.unset(path: ["obj"])])], right: [set("obj", "c", to: 5)],
            value: ["obj": ["c": 5]]),
        MergeRow(
            "a set field of an entry survives the removal of the entry",
            base: [.insert(.of(("items", ["x": ["p": 1]])))],
            left: [.edit([.unset(path: ["items", "x"])])],
            right: [set("items", "x", "q", to: 5)],
            order: .rightLater, value: ["items": ["x": ["q": 5]]]),
        MergeRow(
            "a field inserted again with its old value yields to a concurrent change",
            base: [.insert(.of(("obj", ["a": 1, "b": 1])))],
            left: [.insertDifferences(.of(("obj", ["a": 1, "b": 2])))],
            right: [set("obj", "a", to: 9)],
            value: ["obj": ["a": 9, "b": 2]]),
    ]

    private static let counters = [
        MergeRow(
            "an addition seen by both sides is counted once",
            base: [.insert(.of()), .edit([.increment(path: ["c"], by: .integer(1))])],
            left: [.edit([.increment(path: ["c"], by: .integer(5))])],
            right: [.edit([.increment(path: ["c"], by: .integer(7))])],
            value: ["c": 13]),
        MergeRow(
            "an addition before a restart is not counted with later additions",
            base: [.insert(.of())],
            left: [.edit([.increment(path: ["c"], by: .integer(5))])],
            right: [.edit([.restart(path: ["c"], with: .integer(100))])],
            then: [.edit([.increment(path: ["c"], by: .integer(1))])],
            value: ["c": 101]),
        MergeRow(
            "concurrent additions to a counter add up",
            base: [.insert(.of())],
            left: [.edit([.increment(path: ["c"], by: .integer(5))])],
            right: [.edit([.increment(path: ["c"], by: .integer(7))])],
            value: ["c": 12]),
        MergeRow(
            "concurrent additions to an older counter add up",
            base: [.insert(.of()), .edit([.incrementOlder(path: ["c"], by: .integer(1))])],
            left: [.edit([.incrementOlder(path: ["c"], by: .integer(5))])],
            right: [.edit([.incrementOlder(path: ["c"], by: .integer(7))])],
            value: ["c": 13]),
        MergeRow(
            "a restart discards an addition that has not seen it",
            base: [.insert(.of()), .edit([.increment(path: ["c"], by: .integer(3))])],
            left: [.edit([.restart(path: ["c"], with: .integer(100))])],
            right: [.edit([.increment(path: ["c"], by: .integer(5))])],
            value: ["c": 100]),
        MergeRow(
            "an addition that has seen a restart is counted",
            base: [.insert(.of()), .edit([.restart(path: ["c"], with: .integer(100))])],
            left: [set("d", to: 1)], right: [.edit([.increment(path: ["c"], by: .integer(5))])],
            value: ["c": 105, "d": 1]),
        MergeRow(
            "of two restarts the later wins, with its additions",
            base: [.insert(.of())],
            left: [
                .edit([.restart(path: ["c"], with: .integer(100))]),
                .edit([.increment(path: ["c"], by: .integer(1))]),
            ],
            right: [
                .edit([.unset(path: ["d"])]),
                .edit([.restart(path: ["c"], with: .integer(200))]),
                .edit([.increment(path: ["c"], by: .integer(2))]),
            ],
            order: .rightLater, value: ["c": 202]),
    ]

    private static let documents = [
        MergeRow(
            "a set field survives the deletion of its document",
            base: [.insert(.of(("color", "blue"), ("make", "kia")))],
            left: [.delete], right: [set("color", to: "red")],
            value: ["color": "red"]),
        MergeRow(
            "an unchanged document is removed by a deletion",
            base: [.insert(.of(("color", "blue")))],
            left: [.delete], right: [.edit([.unset(path: ["absent"])])], value: nil),
        MergeRow(
            "of two documents with the same id each field is the later one",
            left: [.insert(.of(("a", 1), ("b", 1)))],
            right: [.insert(.of(("b", 2), ("c", 2)))],
            order: .rightLater, value: ["a": 1, "b": 2, "c": 2]),
    ]

    private static let initials = [
        MergeRow(
            "two initial contents are united, with the greater value of a common field",
            left: [.insertInitial(.of(("a", 1), ("b", 7), ("o", ["x": 1])))],
            right: [.insertInitial(.of(("b", 5), ("c", 2), ("o", ["x": 0, "y": 2])))],
            value: ["a": 1, "b": 7, "c": 2, "o": ["x": 1, "y": 2]]),
        MergeRow(
            "a write replaces all initial values of its field",
            left: [.insertInitial(.of(("a", 9), ("b", 9)))],
            right: [.insertInitial(.of(("a", 5), ("c", 5))), set("a", to: 1)],
            value: ["a": 1, "b": 9, "c": 5]),
        MergeRow(
            "an inserted document replaces the initial values of its fields",
            left: [.insertInitial(.of(("a", 9), ("b", 9)))],
            right: [.insert(.of(("a", 1)))],
            value: ["a": 1, "b": 9]),
        MergeRow(
            "the removal of an object removes all its initial values",
            left: [.insertInitial(.of(("o", ["x": 1, "y": 1])))],
            right: [.insertInitial(.of(("o", ["x": 1]))), .edit([.unset(path: ["o"])])],
            value: [:]),
        MergeRow(
            "setting an object keeps the initial values of both sides",
            left: [.insertInitial(.of(("o", ["x": 1, "y": 1])))],
            right: [.insertInitial(.of(("o", ["x": 1, "z": 1]))), set("o", to: ["w": 1])],
            value: ["o": ["w": 1, "x": 1, "y": 1, "z": 1]]),
        MergeRow(
            "initial values do not restore a deleted document",
            left: [.insertInitial(.of(("a", 1)))],
            right: [.insertInitial(.of(("a", 1))), .delete], value: nil),
    ]
}

import SheafDocument

extension MergeRow {
    /// What a statement sets.
    private static func set(_ path: String..., to value: Value) -> ModelWrite {
        .edit([.set(path: path, to: value)])
    }

    /// What becomes of writes that did not see each other.
    package static let table: [MergeRow] = registers + maps + counters + documents + initials

    private static let registers = [
        MergeRow(
            "of two values the later stays",
            base: [.insert(.of())], left: [set("s", to: "A")], right: [set("s", to: "B")],
            order: .rightLater, value: ["s": "B"]),
        MergeRow(
            "of two arrays the later stays as a whole",
            base: [.insert(.of(("l", [0])))],
            left: [set("l", to: [1, 2, 3])], right: [set("l", to: [4])],
            order: .rightLater, value: ["l": [4]]),
        MergeRow(
            "an array that is later shows, and the object beside it is kept",
            base: [.insert(.of())], left: [set("f", to: ["x": 1])], right: [set("f", to: [1])],
            order: .rightLater, value: ["f": [1]],
            parts: [
                PartValue(["f"], .map, ["x": 1]), PartValue(["f"], .register, [1]),
                PartValue(["f"], .counter, nil),
            ]),
        MergeRow(
            "an object that is later shows, and the array beside it is kept",
            base: [.insert(.of())], left: [set("f", to: [1])], right: [set("f", to: ["x": 1])],
            order: .rightLater, value: ["f": ["x": 1]],
            parts: [PartValue(["f"], .map, ["x": 1]), PartValue(["f"], .register, [1])]),
        MergeRow(
            "of a value and an object with one stamp the value shows",
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
            "two fields of an object that was not there are both set",
            base: [.insert(.of())],
            left: [set("obj", "a", to: 2)], right: [set("obj", "b", to: 3)],
            value: ["obj": ["a": 2, "b": 3]]),
        MergeRow(
            "an object and a field of it are both set",
            base: [.insert(.of())],
            left: [set("obj", to: ["a": 10])], right: [set("obj", "b", to: 20)],
            value: ["obj": ["a": 10, "b": 20]]),
        MergeRow(
            "a field that is set outlives that its object is unset",
            base: [.insert(.of(("obj", ["a": 1, "b": 2])))],
            left: [.edit([.unset(path: ["obj"])])], right: [set("obj", "c", to: 5)],
            value: ["obj": ["c": 5]]),
        MergeRow(
            "a field that is set within an entry outlives that the entry is unset",
            base: [.insert(.of(("items", ["x": ["p": 1]])))],
            left: [.edit([.unset(path: ["items", "x"])])],
            right: [set("items", "x", "q", to: 5)],
            order: .rightLater, value: ["items": ["x": ["q": 5]]]),
        MergeRow(
            "a field whose value is inserted again yields to whoever changed it",
            base: [.insert(.of(("obj", ["a": 1, "b": 1])))],
            left: [.insertDifferences(.of(("obj", ["a": 1, "b": 2])))],
            right: [set("obj", "a", to: 9)],
            value: ["obj": ["a": 9, "b": 2]]),
    ]

    private static let counters = [
        MergeRow(
            "what one has added before is counted once",
            base: [.insert(.of()), .edit([.increment(path: ["c"], by: .integer(1))])],
            left: [.edit([.increment(path: ["c"], by: .integer(5))])],
            right: [.edit([.increment(path: ["c"], by: .integer(7))])],
            value: ["c": 13]),
        MergeRow(
            "what one has added before a restart does not count with what comes after",
            base: [.insert(.of())],
            left: [.edit([.increment(path: ["c"], by: .integer(5))])],
            right: [.edit([.restart(path: ["c"], with: .integer(100))])],
            then: [.edit([.increment(path: ["c"], by: .integer(1))])],
            value: ["c": 101]),
        MergeRow(
            "what two add to a counter adds up",
            base: [.insert(.of())],
            left: [.edit([.increment(path: ["c"], by: .integer(5))])],
            right: [.edit([.increment(path: ["c"], by: .integer(7))])],
            value: ["c": 12]),
        MergeRow(
            "what two add to an older counter adds up",
            base: [.insert(.of()), .edit([.incrementOlder(path: ["c"], by: .integer(1))])],
            left: [.edit([.incrementOlder(path: ["c"], by: .integer(5))])],
            right: [.edit([.incrementOlder(path: ["c"], by: .integer(7))])],
            value: ["c": 13]),
        MergeRow(
            "a restart forgets what was added without having seen it",
            base: [.insert(.of()), .edit([.increment(path: ["c"], by: .integer(3))])],
            left: [.edit([.restart(path: ["c"], with: .integer(100))])],
            right: [.edit([.increment(path: ["c"], by: .integer(5))])],
            value: ["c": 100]),
        MergeRow(
            "what is added to a restart that was seen counts",
            base: [.insert(.of()), .edit([.restart(path: ["c"], with: .integer(100))])],
            left: [set("d", to: 1)], right: [.edit([.increment(path: ["c"], by: .integer(5))])],
            value: ["c": 105, "d": 1]),
        MergeRow(
            "of two restarts the later stays, with what is added to it",
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
            "a field that is set outlives that its document is deleted",
            base: [.insert(.of(("color", "blue"), ("make", "kia")))],
            left: [.delete], right: [set("color", to: "red")],
            value: ["color": "red"]),
        MergeRow(
            "a document that nobody has changed is gone when somebody has deleted it",
            base: [.insert(.of(("color", "blue")))],
            left: [.delete], right: [.edit([.unset(path: ["absent"])])], value: nil),
        MergeRow(
            "of two documents with one id each field is the later",
            left: [.insert(.of(("a", 1), ("b", 1)))],
            right: [.insert(.of(("b", 2), ("c", 2)))],
            order: .rightLater, value: ["a": 1, "b": 2, "c": 2]),
    ]

    private static let initials = [
        MergeRow(
            "of two initial contents there is all, and of one field the greater value",
            left: [.insertInitial(.of(("a", 1), ("b", 7), ("o", ["x": 1])))],
            right: [.insertInitial(.of(("b", 5), ("c", 2), ("o", ["x": 0, "y": 2])))],
            value: ["a": 1, "b": 7, "c": 2, "o": ["x": 1, "y": 2]]),
        MergeRow(
            "any write replaces all initial values of its field",
            left: [.insertInitial(.of(("a", 9), ("b", 9)))],
            right: [.insertInitial(.of(("a", 5), ("c", 5))), set("a", to: 1)],
            value: ["a": 1, "b": 9, "c": 5]),
        MergeRow(
            "a document that was inserted hides the initial values of its fields",
            left: [.insertInitial(.of(("a", 9), ("b", 9)))],
            right: [.insert(.of(("a", 1)))],
            value: ["a": 1, "b": 9]),
        MergeRow(
            "an object that is unset takes all its initial values with it",
            left: [.insertInitial(.of(("o", ["x": 1, "y": 1])))],
            right: [.insertInitial(.of(("o", ["x": 1]))), .edit([.unset(path: ["o"])])],
            value: [:]),
        MergeRow(
            "an object that is set keeps the initial values of all",
            left: [.insertInitial(.of(("o", ["x": 1, "y": 1])))],
            right: [.insertInitial(.of(("o", ["x": 1, "z": 1]))), set("o", to: ["w": 1])],
            value: ["o": ["w": 1, "x": 1, "y": 1, "z": 1]]),
        MergeRow(
            "initial values do not bring back what was deleted",
            left: [.insertInitial(.of(("a", 1)))],
            right: [.insertInitial(.of(("a", 1))), .delete], value: nil),
    ]
}

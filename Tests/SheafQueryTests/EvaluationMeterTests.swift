import SheafDocument
import SheafQuery
import Testing

/// The cost of values that expressions read.
@Suite struct EvaluationMeterTests {
    private typealias Charge = (FunctionContext) throws(StoreError) -> Void

    /// Returns the units that a charge consumes.
    private func units(_ charge: Charge) throws -> Int {
        let meter = EvaluationMeter.unlimited(stop: nil)
        try charge(FunctionContext(now: 0, meter: meter))
        return meter.counted
    }

    /// Returns the additional cost of the longer one of two values, for each kind of charge.
    private func differences(_ short: Value, _ long: Value) throws -> [Int] {
        func charges(_ value: Value) throws -> [Int] {
            let values: [Value?] = [nil, value]
            return [
                try units { (context) throws(StoreError) in try context.charge(value) },
                try units { (context) throws(StoreError) in try context.charge(values) },
                try units { (context) throws(StoreError) in try context.charge(value, nil) },
                try units { (context) throws(StoreError) in try context.charge(1, value) },
            ]
        }
        return zip(try charges(short), try charges(long)).map { $1 - $0 }
    }

    @Test func `a byte of a text costs a unit, and an element or a field 16`() throws {
        func text(_ count: Int) -> Value { .string(String(repeating: "x", count: count)) }
        func array(_ count: Int) -> Value { .array(Array(repeating: 1, count: count)) }
        func object(_ count: Int) -> Value {
            .object(Object((0..<count).map { ("f\($0)", Value.integer(1)) }))
        }
        #expect(try differences(text(10), text(110)) == [100, 100, 100, 100])
        #expect(try differences(text(10), .string("éééééé")) == [2, 2, 2, 2])
        #expect(try differences(array(1), array(4)) == [48, 48, 48, 48])
        #expect(try differences(object(1), object(4)) == [48, 48, 48, 48])
        #expect(try differences(1, 2.5) == [0, 0, 0, 0])
    }

    @Test func `both operands of an operator use up the budget`() throws {
        let text = Value.string(String(repeating: "x", count: 100))
        let operands: [(left: Value, right: Value, permitted: Int)] = [
            (text, 1, 1), (1, text, 1), (text, text, 0),
        ]
        for (left, right, permitted) in operands {
            let meter = EvaluationMeter(150)
            let context = FunctionContext(now: 0, meter: meter)
            for _ in 0..<permitted { try context.charge(left, right) }
            #expect(!meter.isExhausted)
            let error = #expect(throws: StoreError.self) { try context.charge(left, right) }
            #expect(error?.reason == .limit)
            #expect(meter.isExhausted)
        }
    }
}

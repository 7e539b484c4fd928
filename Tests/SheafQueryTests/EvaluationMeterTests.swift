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

    @Test func `a charge costs eight units, and one for each value besides texts and lists`()
        throws
    {
        let (text, array): (Value, Value) = ("0123456789", [1, 2, 3])
        let object: Value = ["a": 1, "b": 2]
        let values: [Value?] = [nil, text, [1]]
        let charges: [(charge: Charge, units: Int)] = [
            ({ (context) throws(StoreError) in try context.charge(1) }, 9),
            ({ (context) throws(StoreError) in try context.charge(nil) }, 9),
            ({ (context) throws(StoreError) in try context.charge(text) }, 18),
            ({ (context) throws(StoreError) in try context.charge(array) }, 56),
            ({ (context) throws(StoreError) in try context.charge(object) }, 40),
            ({ (context) throws(StoreError) in try context.charge(values) }, 35),
            ({ (context) throws(StoreError) in try context.charge(1, nil) }, 10),
        ]
        for (number, (charge, expected)) in charges.enumerated() {
            let found = try units(charge)
            #expect(found == expected, "charge \(number)")
        }
    }

    @Test(arguments: [(0, 13), (7, 13), (8, 18), (15, 18), (16, 23), (800, 513)])
    func `a byte of a matched text costs a unit, and one more for each eight bytes of the pattern`(
        pattern: (length: Int, units: Int)
    ) throws {
        let found = try units { (context) throws(StoreError) in
            try context.charge(pattern: pattern.length, on: "12\u{E9}4")
        }
        #expect(found == pattern.units)
    }

    /// Returns the message of the error that a charge throws; nil if it throws none.
    private func refusal(_ meter: EvaluationMeter, _ units: Int) -> String? {
        do throws(StoreError) { try meter.charge(units) } catch {
            return error.reason == .limit ? error.message : "\(error.reason)"
        }
        return nil
    }

    private static let isExhausted = "the evaluation budget of the queries is exhausted"
    private static let isTooExpensive = "a query exceeds the evaluation budget for one document"

    @Test func `an evaluation may use its limit, and the next one begins with its own`() {
        let meter = EvaluationMeter(100)
        #expect(meter.units == 100)
        meter.begin(limit: 10)
        #expect(refusal(meter, 9) == nil)
        #expect(refusal(meter, 1) == nil)
        #expect(refusal(meter, 1) == Self.isTooExpensive)
        #expect(meter.units == 89 && !meter.isExhausted)
        meter.begin(limit: 100)
        #expect(refusal(meter, 89) == nil)
        #expect(meter.units == 0 && !meter.isExhausted)
        // The budget of all evaluations is exceeded, although the evaluation may use more.
        #expect(refusal(meter, 1) == Self.isExhausted)
        #expect(meter.units == -1 && meter.isExhausted)
    }

    @Test func `units are added up to a maximum, and subtracted without overflow`() {
        let meter = EvaluationMeter(100)
        meter.use(150)
        #expect(meter.units == -50)
        meter.add(60, maximum: 100)
        #expect(meter.units == 10)
        meter.add(89, maximum: 100)
        #expect(meter.units == 99)
        meter.add(2, maximum: 100)
        #expect(meter.units == 100)
        meter.add(.max, maximum: 70)
        #expect(meter.units == 70)
        meter.use(72)
        meter.use(.max)
        #expect(meter.units == .min)
        #expect(refusal(meter, 1) == Self.isExhausted)
    }

    @Test func `a meter without a limit only counts`() {
        let meter = EvaluationMeter.unlimited(stop: nil)
        #expect(meter.counted == 0)
        meter.begin(limit: 1)
        #expect(refusal(meter, 5) == nil)
        #expect(meter.counted == 5)
        meter.countVisit()
        #expect(meter.counted == 5 && !meter.isTurnOver)
        #expect(refusal(meter, .max) == nil)
    }

    @Test func `a slice counts the units of a turn and of all turns`() {
        let slice = EvaluationSlice(1_000)
        #expect(!slice.isOver && slice.used == 0 && slice.longestTurn == 0)
        slice.charge(999)
        #expect(!slice.isOver)
        slice.charge(1)
        #expect(slice.isOver && slice.used == 1_000 && slice.longestTurn == 1_000)
        slice.charge(500)
        #expect(slice.isOver && slice.used == 1_500 && slice.longestTurn == 1_500)
        slice.refill()
        #expect(!slice.isOver && slice.used == 1_500 && slice.longestTurn == 1_500)
        slice.charge(10)
        #expect(slice.used == 1_510 && slice.longestTurn == 1_500)
        slice.refill()
        slice.charge(1_600)
        #expect(slice.used == 3_110 && slice.longestTurn == 1_600)
        slice.refill()
        slice.charge(.max)
        #expect(slice.used == 3_110 + 1_099_511_627_776 && slice.isOver)
    }

    @Test func `charges and visits use up a slice, and visits no budget`() {
        let slice = EvaluationSlice(200)
        let meter = EvaluationMeter(100, slice: slice)
        #expect(refusal(meter, 7) == nil)
        #expect(meter.units == 93 && slice.used == 7)
        meter.countVisit()
        #expect(meter.units == 93 && slice.used == 57 && !meter.isTurnOver)
        #expect(refusal(meter, 94) == Self.isExhausted)
        #expect(slice.used == 151 && !meter.isTurnOver)
        meter.countVisit()
        #expect(slice.used == 201 && meter.isTurnOver)
    }
}

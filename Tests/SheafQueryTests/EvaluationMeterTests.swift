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

    @Test func `a charge costs eight units, and each number, null or missing value one`() throws {
        func units(_ values: [Value?]) throws -> Int {
            try self.units { (context) throws(StoreError) in try context.charge(values) }
        }
        #expect(try units([]) == 8)
        #expect(try units([1, nil, .null, true, 2.5]) == 13)
        #expect(try units(["abc", [1, 2], ["k": 1]]) == 8 + 3 + 32 + 16)
        #expect(try units([.bytes([1, 2, 3])]) == 9)
        let text = try self.units { (context) throws(StoreError) in try context.charge("abc") }
        #expect(text == 11)
        for (length, cost) in [(0, 18), (7, 18), (8, 28), (15, 28), (16, 38)] {
            let found = try self.units { (context) throws(StoreError) in
                try context.charge(pattern: length, on: "ten bytes.")
            }
            #expect(found == cost, "\(length)")
        }
    }

    /// Returns the message of the error for a charge, if it fails.
    private func failure(_ meter: EvaluationMeter, _ units: Int) -> String? {
        do throws(StoreError) { try meter.charge(units) } catch {
            return error.reason == .limit ? error.message : "\(error)"
        }
        return nil
    }

    @Test func `a budget may be used up, but not exceeded`() {
        let meter = EvaluationMeter(100)
        #expect(failure(meter, 60) == nil && failure(meter, 40) == nil)
        #expect(meter.units == 0 && !meter.isExhausted)
        #expect(failure(meter, 1) == "the evaluation budget of the queries is exhausted")
        #expect(meter.units == -1 && meter.isExhausted)
        meter.add(31, maximum: 1_000)
        #expect(meter.units == 30 && !meter.isExhausted)
        meter.add(100, maximum: 120)
        #expect(meter.units == 120)
        meter.use(20)
        #expect(meter.units == 100)
        meter.add(.max, maximum: 500)
        #expect(meter.units == 500)
        meter.use(501)
        #expect(meter.isExhausted)
        meter.use(.max)
        meter.use(.max)
        #expect(meter.units == .min)
    }

    @Test func `an evaluation has an allowance of its own, which later ones do not share`() {
        let meter = EvaluationMeter(1_000)
        #expect(failure(meter, 500) == nil)
        for _ in 0..<2 {
            meter.begin(limit: 10)
            #expect(failure(meter, 7) == nil && failure(meter, 3) == nil)
            let message = "a query exceeds the evaluation budget for one document"
            #expect(failure(meter, 1) == message)
        }
        #expect(meter.units == 478)
    }

    @Test func `an unlimited meter counts units and never fails`() {
        let meter = EvaluationMeter.unlimited(stop: nil)
        meter.begin(limit: 1)
        #expect(failure(meter, 70) == nil && failure(meter, 7) == nil)
        meter.countVisit()
        #expect(meter.counted == 77 && !meter.isExhausted && !meter.isTurnOver)
    }

    @Test func `a turn ends when its slice is used up, by visits and charges`() {
        let slice = EvaluationSlice(100)
        let meter = EvaluationMeter(1_000, slice: slice)
        meter.countVisit()
        #expect(meter.units == 1_000 && slice.used == 50 && !meter.isTurnOver)
        #expect(failure(meter, 49) == nil)
        #expect(meter.units == 951 && slice.used == 99 && !slice.isOver)
        #expect(failure(meter, 1) == nil)
        #expect(slice.isOver && meter.isTurnOver && slice.longestTurn == 100)
        slice.charge(50)
        #expect(slice.used == 150 && slice.longestTurn == 150)
        slice.refill()
        #expect(!slice.isOver && slice.used == 150 && slice.longestTurn == 150)
        slice.charge(30)
        #expect(slice.used == 180 && slice.longestTurn == 150)
        slice.refill()
        slice.charge(200)
        #expect(slice.isOver && slice.used == 380 && slice.longestTurn == 200)
    }
}

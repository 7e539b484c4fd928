import SheafDocument
import SheafQuery
import SheafReplication
import SheafSync
import SheafSystem
import Testing

/// The size and the refill of the evaluation budgets of peers.
struct BudgetRefillTests {
    private static let millisecond: UInt64 = 1_000_000
    private let key: [UInt8] = [1]
    private let budgets = EvaluationBudgets(
        EvaluationSlice(SyncLimits.evaluationUnitsPerTurn), until: EvaluationStop())

    /// The cases: whether the rights are limited, the budget, and the units per millisecond.
    private static let rates: [(isRestricted: Bool, maximum: Int, perMillisecond: Int)] = [
        (true, 200_000_000, 20_000), (false, 1_600_000_000, 40_000),
    ]

    @Test(arguments: rates)
    func `a budget may be used up to its last unit, and not exceeded`(
        _ rate: (isRestricted: Bool, maximum: Int, perMillisecond: Int)
    ) throws {
        var budgets = budgets
        let meter = budgets.meter(of: key, isRestricted: rate.isRestricted, at: 0)
        #expect(meter.units == rate.maximum)
        try meter.charge(rate.maximum - 1)
        try meter.charge(1)
        #expect(!meter.isExhausted)
        #expect(throws: StoreError.self) { try meter.charge(1) }
        #expect(meter.isExhausted)
        // A new connection continues with the same budget.
        let again = budgets.meter(of: key, isRestricted: rate.isRestricted, at: 1)
        #expect(again.units == -1)
    }

    @Test(arguments: rates)
    func `a budget is refilled each millisecond, up to its maximum`(
        _ rate: (isRestricted: Bool, maximum: Int, perMillisecond: Int)
    ) {
        var budgets = budgets
        let meter = budgets.meter(of: key, isRestricted: rate.isRestricted, at: 0)
        meter.use(rate.maximum)
        let full = UInt64(rate.maximum / rate.perMillisecond)
        let steps: [(nanoseconds: UInt64, units: Int)] = [
            (Self.millisecond - 1, 0), (Self.millisecond, rate.perMillisecond),
            (1_000 * Self.millisecond, 1_000 * rate.perMillisecond),
            ((full - 1) * Self.millisecond, rate.maximum - rate.perMillisecond),
            (full * Self.millisecond, rate.maximum),
            ((full + 1) * Self.millisecond, rate.maximum),
            (.max, rate.maximum),
        ]
        for (now, units) in steps {
            budgets.fill(key, isRestricted: rate.isRestricted, at: now)
            #expect(meter.units == units, "after \(now) ns")
        }
    }

    @Test func `refills at short intervals lose no part of a millisecond`() {
        var budgets = budgets
        let meter = budgets.meter(of: key, isRestricted: true, at: 0)
        meter.use(200_000_000)
        for step in 1...100 as ClosedRange<UInt64> {
            budgets.fill(key, isRestricted: true, at: step * 1_900_000)
        }
        #expect(meter.units == 190 * 20_000)
    }

    @Test func `of more than 1,024 budgets, those that are at least half full are discarded`() {
        var budgets = budgets
        let keys: [[UInt8]] = (0...1_024).map { [UInt8($0 % 256), UInt8($0 / 256)] }
        for key in keys.prefix(1_024) { _ = budgets.meter(of: key, isRestricted: true, at: 0) }
        budgets.meter(of: keys[0], isRestricted: true, at: 0).use(100_000_000)
        budgets.meter(of: keys[1], isRestricted: true, at: 0).use(100_000_001)
        #expect(budgets.units(of: keys[0]) == 100_000_000)
        #expect(budgets.units(of: keys[1_023]) == 200_000_000)
        _ = budgets.meter(of: keys[1_024], isRestricted: true, at: 0)
        #expect(budgets.units(of: keys[0]) == nil)
        #expect(budgets.units(of: keys[1]) == 99_999_999)
        #expect(budgets.units(of: keys[1_023]) == nil)
        #expect(budgets.units(of: keys[1_024]) == 200_000_000)
    }

    @Test func `a query may use 20,000,000 units on one document, and a turn 1,000,000`() throws {
        #expect(SyncLimits.evaluationUnitsOnDocument == 20_000_000)
        #expect(SyncLimits.ruleUnitsOnDocument == 1_000)
        let slice = EvaluationSlice(SyncLimits.evaluationUnitsPerTurn)
        let meter = EvaluationMeter(SyncLimits.evaluationUnits, slice: slice)
        meter.begin(limit: 1_000_000)
        try meter.charge(999_999)
        #expect(!meter.isTurnOver)
        try meter.charge(1)
        #expect(meter.isTurnOver)
        #expect(throws: StoreError.self) { try meter.charge(1) }
        // Only the evaluation of the document has ended.
        #expect(!meter.isExhausted)
    }
}

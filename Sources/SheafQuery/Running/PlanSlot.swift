import SheafDocument
import Synchronization

/// The inputs of a plan besides the statement.
struct PlanBasis: Sendable {
    let state: PlanState
    let arguments: ArgumentValues
    let isStrict: Bool

    /// Creates a basis for caching; nil without a state, or with large arguments.
    init?(_ state: PlanState?, _ arguments: ArgumentValues, isStrict: Bool) {
        guard let state, arguments.allSatisfy(\.isSmall) else { return nil }
        self.state = state
        self.arguments = arguments
        self.isStrict = isStrict
    }

    func isSame(as other: PlanBasis) -> Bool {
        state == other.state && isStrict == other.isStrict
            && arguments.isIdentical(to: other.arguments)
    }
}

/// A cache of the last plan of a statement, valid until one of the inputs changes.
package final class PlanSlot: Sendable {
    private struct CachedPlan: Sendable {
        let basis: PlanBasis
        // Plans are immutable after planning. Their closures capture only constants, and get the
        // state of a run, such as its timeout, from the row context.
        nonisolated(unsafe) let plan: SelectPlan
    }

    private let cached = Mutex<CachedPlan?>(nil)

    init() {}

    func plan(_ basis: PlanBasis) -> SelectPlan? {
        guard let kept = cached.withLock({ $0 }), kept.basis.isSame(as: basis) else { return nil }
        return kept.plan
    }

    func cache(_ plan: SelectPlan, _ basis: PlanBasis) {
        let new = CachedPlan(basis: basis, plan: plan)
        cached.withLock { $0 = new }
    }
}

extension Value {
    private static let maximumCachedBytes = 256

    fileprivate var isSmall: Bool {
        switch self {
        case .null, .bool, .integer, .float: true
        case .string(let text): text.utf8.count <= Self.maximumCachedBytes
        case .bytes(let bytes): bytes.count <= Self.maximumCachedBytes
        case .array, .object: false
        }
    }
}

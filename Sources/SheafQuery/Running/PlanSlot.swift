import SheafDocument
import Synchronization

/// The state of a store that plans depend on; equal states yield equal plans.
package struct PlanState: Equatable, Sendable {
    /// Identifier of the store, unique within the process.
    private let store: UInt64
    private let commit: UInt64
    /// Number of names in the dictionary, which may grow between commits.
    private let nameCount: Int
    private let hasIndexes: Bool

    package init(store: UInt64, commit: UInt64, nameCount: Int, hasIndexes: Bool) {
        self.store = store
        self.commit = commit
        self.nameCount = nameCount
        self.hasIndexes = hasIndexes
    }
}

/// The inputs of a plan besides the statement.
struct PlanBasis: Sendable {
    let state: PlanState
    let arguments: ArgumentValues
    let isStrict: Bool

    /// Creates a basis for caching; nil for large arguments or session directives.
    init?(_ options: QueryOptions, _ state: PlanState?) {
        guard let state, options.directives.isEmpty,
            options.arguments.allSatisfy(\.isSmall)
        else { return nil }
        self.state = state
        arguments = options.arguments
        isStrict = options.isStrict
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
        // Plans are immutable after planning, and their closures capture only constants.
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

    /// Whether a value is identical and not only equal; 1 and 1.0 differ.
    func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
        case (.string(let left), .string(let right)): left.isSpelled(right)
        case (.bytes(let left), .bytes(let right)): left == right
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.isIdentical(to: $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && zip(left, right).allSatisfy {
                    $0.name.isSpelled($1.name) && $0.value.isIdentical(to: $1.value)
                }
        default: false
        }
    }
}

import SheafDocument
import Synchronization

/// A state of a store, as far as plans depend on it: in the same state the same plan is made again.
package struct PlanState: Equatable, Sendable {
    /// What no other store has in this process.
    private let store: UInt64
    private let commit: UInt64
    /// Names are given before the commits that use them.
    private let nameCount: Int
    private let hasIndexes: Bool

    package init(store: UInt64, commit: UInt64, nameCount: Int, hasIndexes: Bool) {
        self.store = store
        self.commit = commit
        self.nameCount = nameCount
        self.hasIndexes = hasIndexes
    }
}

/// What a plan is made of besides the statement.
struct PlanBasis: Sendable {
    let state: PlanState
    let arguments: ArgumentValues
    let isStrict: Bool

    /// The basis of a plan that is worth keeping; none where it would keep large values, or what
    /// hardly anybody sets has a say in it.
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

/// Keeps the last plan of a statement, for those who run it again before anything changes.
package final class PlanSlot: Sendable {
    private struct Kept: Sendable {
        let basis: PlanBasis
        // Nobody changes a plan when it is made, and its closures hold constants alone.
        nonisolated(unsafe) let plan: SelectPlan
    }

    private let kept = Mutex<Kept?>(nil)

    init() {}

    func plan(_ basis: PlanBasis) -> SelectPlan? {
        guard let kept = kept.withLock({ $0 }), kept.basis.isSame(as: basis) else { return nil }
        return kept.plan
    }

    func keep(_ plan: SelectPlan, _ basis: PlanBasis) {
        let new = Kept(basis: basis, plan: plan)
        kept.withLock { $0 = new }
    }
}

extension Value {
    private static let mostBytesKept = 256

    fileprivate var isSmall: Bool {
        switch self {
        case .null, .bool, .integer, .float: true
        case .string(let text): text.utf8.count <= Self.mostBytesKept
        case .bytes(let bytes): bytes.count <= Self.mostBytesKept
        case .array, .object: false
        }
    }

    /// Whether a value is the same, and not only equal, as 1 is to 1.0.
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

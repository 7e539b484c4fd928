import SheafDocument
import Synchronization

/// The inputs of a plan besides the statement.
struct PlanBasis: Sendable {
    let state: PlanState
    let arguments: ArgumentValues
    let isStrict: Bool

    /// Creates a basis for caching; nil with large arguments.
    init?(_ state: PlanState, _ arguments: ArgumentValues, isStrict: Bool) {
        guard arguments.allSatisfy(\.isSmall) else { return nil }
        self.state = state
        self.arguments = arguments
        self.isStrict = isStrict
    }

    func isSame(as other: PlanBasis) -> Bool {
        state == other.state && isStrict == other.isStrict
            && arguments.isIdentical(to: other.arguments)
    }
}

/// A cache of the last plan of a statement, and of its generic plan for other arguments.
package final class PlanSlot: Sendable {
    private struct CachedPlan: Sendable {
        let basis: PlanBasis
        // Plans are immutable after planning. Their closures capture only constants, and get the
        // state of a run, such as its timeout, from the row context.
        nonisolated(unsafe) let plan: SelectPlan
    }

    private struct CachedGenericPlan: Sendable {
        /// The last state in which the collections were as in the plan.
        var state: PlanState
        let isStrict: Bool
        nonisolated(unsafe) let plan: GenericPlan
    }

    private struct Contents: Sendable {
        var plan: CachedPlan?
        var generic: CachedGenericPlan?
        /// A plan with arguments, made from the generic one, that no run uses.
        nonisolated(unsafe) var spare: SelectPlan?
    }

    private let contents = Mutex(Contents())

    init() {}

    func plan(_ basis: PlanBasis) -> SelectPlan? {
        guard let kept = contents.withLock({ $0.plan }), kept.basis.isSame(as: basis) else {
            return nil
        }
        return kept.plan
    }

    func cache(_ plan: SelectPlan, _ basis: PlanBasis) {
        let new = CachedPlan(basis: basis, plan: plan)
        contents.withLock { $0.plan = new }
    }

    /// Returns the generic plan, if the collections still have its keys and indexes.
    func genericPlan(_ environment: PlanEnvironment) -> GenericPlan? {
        guard let state = environment.store.planState,
            var kept = contents.withLock({ $0.generic }), kept.isStrict == environment.isStrict
        else { return nil }
        if kept.state == state { return kept.plan }
        guard kept.state.isCompatible(with: state),
            kept.plan.plan.sources.allSatisfy({ source in
                guard let collection = source.collection else { return false }
                let current = environment.store.collection(source.name)
                return current?.hasSameKeysAndIndexes(as: collection) == true
            })
        else { return nil }
        kept.state = state
        let new = kept
        contents.withLock { contents in
            // Another thread may have replaced the generic plan, to which the spare plan belongs.
            if contents.generic?.plan === new.plan { contents.generic = new }
        }
        return kept.plan
    }

    func cache(_ generic: GenericPlan, _ environment: PlanEnvironment) {
        // Large arguments are not kept with the statement.
        guard let state = environment.store.planState,
            environment.arguments.allSatisfy(\.isSmall)
        else { return }
        let new = CachedGenericPlan(
            state: state, isStrict: environment.isStrict, plan: generic)
        contents.withLock { ($0.generic, $0.spare) = (new, nil) }
    }

    /// Binds the arguments of a run; returns nil if the statement must be planned.
    func bind(
        _ generic: GenericPlan, _ environment: PlanEnvironment
    ) throws(StoreError) -> SelectPlan? {
        let spare = contents.withLock { contents in
            defer { contents.spare = nil }
            return contents.generic?.plan === generic ? contents.spare : nil
        }
        return try generic.plan(environment, spare)
    }

    /// Keeps a plan that `bind` returned, and that its run has used, for another run.
    func release(
        _ plan: SelectPlan, of generic: GenericPlan, _ environment: PlanEnvironment
    ) {
        guard environment.arguments.allSatisfy(\.isSmall) else { return }
        contents.withLock { contents in
            if contents.generic?.plan === generic { contents.spare = plan }
        }
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

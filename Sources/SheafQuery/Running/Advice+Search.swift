import SheafBytes
import SheafDocument

/// A search for missing indexes that would speed up a statement.
struct Adviser {
    let environment: PlanEnvironment
    private(set) var found: [IndexAdvice] = []
    /// Indexes that the plan uses, or would use on a larger collection.
    private(set) var existing: [IndexAdvice]

    private static let maximumNameLength = 120

    init(environment: PlanEnvironment, existing: [IndexAdvice]) {
        self.environment = environment
        self.existing = existing
    }

    mutating func advise(_ select: Select) throws(StoreError) {
        let candidates = try SelectPlanner(select, environment).candidates()
        if hasIndexes(select.source) {
            for fields in advised(candidates.condition, candidates) {
                suggest(fields, select.source)
            }
        }
        for (source, paths) in candidates.joined where hasIndexes(source) {
            // An index on any one of the fields is enough for the join.
            let isServed = recordExisting(source) { paths.hasSpelling($0[0].path) }
            guard !isServed, let path = paths.first else { continue }
            var fields = AdvisedFields()
            fields.points = [path]
            suggest(fields, source, for: "a join, ")
        }
    }

    /// Whether a collection supports indexes.
    private func hasIndexes(_ source: Source) -> Bool {
        !environment.isVirtual(source) && !PlanEnvironment.isReserved(source)
    }

    // MARK: Conditions

    private func advised(_ condition: Condition, _ candidates: IndexCandidates) -> [AdvisedFields] {
        switch condition {
        case .any(let branches): return union(of: branches)
        case .never: return []
        case .all(let conditions): return conjunction(conditions, candidates)
        default: return conjunction([condition], candidates)
        }
    }

    private func conjunction(
        _ conditions: [Condition], _ candidates: IndexCandidates
    ) -> [AdvisedFields] {
        var others: [Condition] = []
        let sets = FieldSets(conditions, others: &others)
        guard !sets.isEmpty, let fields = AdvisedFields(sets, candidates) else { return [] }
        if !fields.points.isEmpty || !fields.tail.isEmpty { return [fields] }
        for case .any(let branches) in others {
            let union = union(of: branches)
            if !union.isEmpty { return union }
        }
        return fields.covered.isEmpty ? [] : [fields]
    }

    /// Returns an index for each branch, or none if a branch cannot use an index.
    private func union(of branches: [Condition]) -> [AdvisedFields] {
        guard branches.count <= PlanHints().maximumScans else { return [] }
        var all: [AdvisedFields] = []
        for branch in branches {
            var others: [Condition] = []
            let sets = FieldSets([branch], others: &others)
            if sets.isEmpty { continue }
            guard let fields = AdvisedFields(sets, IndexCandidates()) else { continue }
            guard !fields.points.isEmpty || !fields.tail.isEmpty else { return [] }
            all.append(fields)
        }
        return all
    }

    // MARK: Suggestions

    /// Returns the existing and suggested indexes of a collection.
    private func indexes(of source: Source) -> [IndexAdvice] {
        let known = environment.collection(source)?.indexes ?? []
        return known.map {
            IndexAdvice(
                name: $0.name, collection: source.name.text, fields: $0.fields, reason: "")
        } + found.filter { $0.collection.isSpelled(source.name.text) }
    }

    /// Records the first index of the collection that satisfies `serves`; returns whether there is
    /// one.
    private mutating func recordExisting(
        _ source: Source, where serves: (_ fields: [IndexDescription.Field]) -> Bool
    ) -> Bool {
        guard let index = indexes(of: source).first(where: { serves($0.fields) }) else {
            return false
        }
        let isNoted = (existing + found).contains {
            $0.collection.isSpelled(source.name.text) && serves($0.fields)
        }
        if !isNoted { existing.append(index) }
        return true
    }

    private mutating func suggest(
        _ fields: AdvisedFields, _ source: Source, for purpose: String = ""
    ) {
        let all = fields.all
        guard !all.isEmpty, all.count <= QueryLimits.maximumIndexFields,
            !recordExisting(source, where: fields.isServed)
        else { return }
        found.append(
            IndexAdvice(
                name: name(of: all, source), collection: source.name.text, fields: all,
                reason: (purpose.isEmpty ? "" : "for " + purpose) + fields.reason))
    }

    /// Returns a unique name derived from the collection and the fields.
    private func name(of fields: [IndexDescription.Field], _ source: Source) -> String {
        let words = [source.name.text] + fields.flatMap(\.path)
        let letters = words.map { word in
            String(
                decoding: word.utf8.map { Lexer.isNamePart($0) && $0 < 0x80 ? $0 : 0x5F },
                as: UTF8.self)
        }
        let name = String(letters.joined(separator: "_").prefix(Self.maximumNameLength))
        let taken = indexes(of: source).map(\.name)
        guard taken.contains(name) else { return name }
        // Among this many candidates, at least one is unused.
        let free = (2...taken.count + 2).first { !taken.contains("\(name)_\($0)") }
        return "\(name)_\(free ?? 2)"
    }
}

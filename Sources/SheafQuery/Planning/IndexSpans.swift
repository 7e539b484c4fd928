import SheafBytes
import SheafDocument

/// The possible values of each field under a conjunction.
struct FieldSets {
    /// A linear list, because there are few fields.
    private(set) var sets: [(path: [String], set: ComponentSet)] = []
    /// Whether a condition is only necessary, not sufficient.
    private var isInexact = false

    /// Whether no document can satisfy the conjunction.
    var isEmpty: Bool { sets.contains { $0.set.ranges.isEmpty } }

    /// Creates the sets of all fields; conditions that do not restrict one field are added to
    /// `others`.
    init(_ conditions: [Condition], others: inout [Condition]) {
        var found = Gathered()
        for condition in conditions { gather(condition, &found, others: &others) }
        sets = found.sets.map { ($0.path, ComponentSet.intersection(of: $0.sets)) }
    }

    /// The sets of each field, in order of appearance.
    private struct Gathered {
        private(set) var sets: [(path: [String], sets: [ComponentSet])] = []
        /// Positions of the fields, used once there are many.
        private var positions: [[[UInt8]]: Int] = [:]

        private static let few = 8

        mutating func narrow(_ path: [String], to set: ComponentSet) {
            if let index = position(of: path) {
                sets[index].sets.append(set)
                return
            }
            sets.append((path, [set]))
            if sets.count == Self.few {
                for (number, field) in sets.enumerated() {
                    positions[Self.bytes(of: field.path)] = number
                }
            } else if sets.count > Self.few {
                positions[Self.bytes(of: path)] = sets.count - 1
            }
        }

        private func position(of path: [String]) -> Int? {
            sets.count < Self.few
                ? sets.firstIndex { $0.path.isSpelled(path) } : positions[Self.bytes(of: path)]
        }

        private static func bytes(of path: [String]) -> [[UInt8]] { path.map { Array($0.utf8) } }
    }

    /// Returns the possible values of a field; nil if it is not restricted.
    package func set(of path: [String]) -> ComponentSet? {
        sets.first { $0.path.isSpelled(path) }?.set
    }

    private mutating func gather(
        _ condition: Condition, _ found: inout Gathered, others: inout [Condition]
    ) {
        switch condition {
        case .field(let path, let set): found.narrow(path, to: set)
        case .somewhereIn(let path, let set):
            found.narrow(path, to: set)
            isInexact = true
        case .all(let conditions):
            for condition in conditions { gather(condition, &found, others: &others) }
        case .any(let conditions):
            // Branches that restrict the same field are united into one set.
            guard let (path, set, isExact) = Self.single(conditions) else {
                others.append(condition)
                return
            }
            found.narrow(path, to: set)
            if !isExact { isInexact = true }
        case .always: break
        case .never: found.narrow([], to: ComponentSet([]))
        case .anything: others.append(condition)
        }
    }

    /// Whether restricting only the fields at `paths` satisfies the conjunction.
    func isExact(using paths: [[String]]) -> Bool {
        !isInexact && sets.allSatisfy { paths.hasSpelling($0.path) }
    }

    private static func single(
        _ conditions: [Condition]
    ) -> (path: [String], set: ComponentSet, isExact: Bool)? {
        var common: [String]?
        var ranges: [ComponentRange] = []
        var isExact = true
        for condition in conditions {
            let (path, set): ([String], ComponentSet)
            switch condition {
            case .field(let field, let values): (path, set) = (field, values)
            case .somewhereIn(let field, let values):
                (path, set) = (field, values)
                isExact = false
            default: return nil
            }
            guard path.isSpelled(common ?? path) else { return nil }
            common = path
            ranges += set.ranges
        }
        return common.map { ($0, ComponentSet(ranges), isExact) }
    }
}

/// The ranges of index entries that a conjunction selects.
struct IndexSpans {
    /// Disjoint ranges in ascending order.
    let ranges: [KeyRange]
    /// Paths of the fields whose sets were used.
    let usedPaths: [[String]]
    /// Paths of the fields with a single possible value.
    let fixedPaths: [[String]]

    /// Creates at most `limit` ranges from the leading restricted fields of the index.
    ///
    /// If the first fields are skipped, `known` are the prefixes of the entries with their values.
    init(
        _ index: IndexDescription, _ fields: FieldSets, limit: Int, behind known: [[UInt8]]? = nil,
        skipping skipped: Int = 0
    ) {
        var prefixes = known ?? [index.keyPrefix]
        var used: [[String]] = []
        var fixed: [[String]] = []
        for field in index.fields.dropFirst(skipped) {
            guard let set = fields.set(of: field.path), !set.isAll,
                prefixes.count * set.ranges.count <= limit
            else { break }
            used.append(field.path)
            guard set.isPoints else {
                if prefixes.count == 1, set.ranges.count == 1 {
                    let range = set.ranges[0].keys(
                        behind: prefixes[0], isDescending: field.isDescending)
                    (ranges, usedPaths, fixedPaths) = (KeyRange.union([range]), used, fixed)
                    return
                }
                ranges = KeyRange.union(
                    prefixes.flatMap { prefix in
                        set.ranges.map {
                            $0.keys(behind: prefix, isDescending: field.isDescending)
                        }
                    })
                (usedPaths, fixedPaths) = (used, fixed)
                return
            }
            if set.ranges.count == 1 { fixed.append(field.path) }
            if prefixes.count == 1, set.ranges.count == 1, !field.isDescending {
                prefixes[0].append(contentsOf: set.ranges[0].lower.bytes)
                continue
            }
            prefixes = prefixes.flatMap { prefix in
                set.ranges.map { range in
                    let bytes = range.lower.bytes
                    return prefix + (field.isDescending ? bytes.map { ~$0 } : bytes)
                }
            }
        }
        ranges = KeyRange.union(prefixes.map(KeyRange.prefix))
        (usedPaths, fixedPaths) = (used, fixed)
    }
}

/// The hints of a statement for its plan.
struct PlanHints {
    /// Names of the preferred indexes; empty if there is no preference.
    var indexes: [String] = []
    var disablesIndexes = false
    var prefersOrder = false
    /// Whether to intersect indexes; nil leaves the choice to the planner.
    var intersects: Bool?
    /// Maximum number of scans in a union.
    var maximumScans = QueryLimits.maximumScans
    /// Maximum number of ranges in a scan.
    var maximumRanges = 256
    var maximumJoins = QueryLimits.maximumJoins

    /// Whether the hints demand this access path.
    func forces(_ access: Access) -> Bool {
        switch access {
        case .index(let scan): indexes.hasSpelling(scan.index.name)
        case .intersection: intersects == true && indexes.isEmpty
        default: false
        }
    }
}

package import SheafBytes

/// An enumeration of all dots and annotations of a document.
package struct DotWalk {
    /// A dot, or an annotation of a map.
    package struct Item {
        package enum Kind: Sendable {
            case value, token, mark, restart, sum, olderSum
            case overrides(PartSet)
            /// Parts that a delta names as empty.
            case empty(PartSet)
            /// A map that a delta names completely.
            case named(PartSet)
        }

        /// Field names from the root to the field.
        package let path: [String]
        package let kind: Kind
        /// The stamp of the dot; nil for annotations.
        package let stamp: Stamp?
        /// The epoch of a sum.
        package let epoch: Stamp?
        package let value: Value?
        /// The part of the dot; `.map` for annotations.
        package let part: Part
        /// Whether the enclosing map is partial, as in a delta.
        package let isInPartialMap: Bool
    }

    private let header: EncodedHeader
    private let root: Stamp?
    private let names: NameTable

    /// Calls `body` for all dots and annotations of a document, map by map.
    package static func visit(
        _ document: EncodedDocument, _ names: NameTable, _ body: (Item) -> Void
    ) throws(Malformed) {
        let header = try document.header()
        let walk = DotWalk(
            header: header, root: try header.rootStamp(readingTo: document.bytes.count),
            names: names)
        guard try document.root.tag() != .noRoot else { return }
        try walk.visit(document.root, path: [], isPartial: document.isPartial, body)
    }

    private func visit(
        _ field: EncodedEntry, path: [String], isPartial: Bool, _ body: (Item) -> Void
    ) throws(Malformed) {
        try field.forEachEntry { (entry) throws(Malformed) in
            let tag = try entry.tag()
            func annotate(_ kind: Item.Kind) {
                body(
                    Item(
                        path: path, kind: kind, stamp: nil, epoch: nil, value: nil, part: .map,
                        isInPartialMap: isPartial))
            }
            if let kind = Dot.Kind(tag) {
                let dot = try Dot(entry, kind, header, root: root)
                body(
                    Item(
                        path: path, kind: Item.Kind(kind), stamp: dot.stamp,
                        epoch: kind == .sum ? dot.epoch : nil, value: try dot.value(names),
                        part: kind.part, isInPartialMap: isPartial))
            }
            switch tag {
            case .overrides: annotate(.overrides(try entry.partSet()))
            case .empty: annotate(.empty(try entry.partSet()))
            case .map, .bareMap:
                guard path.count < Value.maximumDepth else {
                    throw .tooDeep(at: entry.start, limit: Value.maximumDepth)
                }
                let object = try entry.object()
                if isPartial, !object.isPartial { annotate(.named(.map)) }
                for index in 0..<object.count {
                    try visit(
                        try object.entry(index), path: path + [try object.name(index, names)],
                        isPartial: object.isPartial, body)
                }
            default: break
            }
        }
    }
}

extension DotWalk.Item.Kind {
    init(_ kind: Dot.Kind) {
        self =
            switch kind {
            case .value: .value
            case .token: .token
            case .mark: .mark
            case .restart: .restart
            case .sum: .sum
            case .olderSum: .olderSum
            }
    }
}

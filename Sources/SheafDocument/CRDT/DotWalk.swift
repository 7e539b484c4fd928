package import SheafBytes

/// Everything that writes have put into a document, dot by dot.
package struct DotWalk {
    /// What one write has put somewhere, or a note that stands there.
    package struct Item {
        package enum Kind: Sendable {
            case value, token, mark, restart, sum, olderSum
            case overrides(PartSet)
            /// Only in deltas: parts that are named and not there.
            case empty(PartSet)
            /// Only in deltas: a map that is named with all that is in it.
            case named(PartSet)
        }

        /// The names of the fields on the way.
        package let path: [String]
        package let kind: Kind
        /// None for notes.
        package let stamp: Stamp?
        /// What a sum counts from.
        package let epoch: Stamp?
        package let value: Value?
        /// The part that it belongs to; for notes the map.
        package let part: Part
        /// Whether only some of what is around it is named, as in a delta.
        package let isInPartialMap: Bool
    }

    private let header: EncodedHeader
    private let root: Stamp?
    private let names: NameTable

    /// Visits all dots of a document, map by map.
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
            func note(_ kind: Item.Kind) {
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
            case .overrides: note(.overrides(try entry.partSet()))
            case .empty: note(.empty(try entry.partSet()))
            case .map, .bareMap:
                guard path.count < Value.maximumDepth else {
                    throw .tooDeep(at: entry.start, limit: Value.maximumDepth)
                }
                let object = try entry.object()
                if isPartial, !object.isPartial { note(.named(.map)) }
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

package import SheafDocument

/// A case of concurrent writes of two peers, with the expected merged document.
package struct MergeRow: Sendable {
    /// The side with the later stamps.
    package enum Order: Sendable {
        /// Either side, or equal times; the outcome must be the same.
        case any
        /// The right side, by its time or by its site.
        case rightLater
    }

    /// The expected value of a part, which another part of the field may hide.
    package struct PartValue: Sendable {
        package let path: [String]
        package let part: Part
        /// The value; nil if the part does not exist.
        package let value: Value?

        package init(_ path: [String], _ part: Part, _ value: Value?) {
            self.path = path
            self.part = part
            self.value = value
        }
    }

    package let name: String
    /// The writes that both sides have seen.
    package let base: [ModelWrite]
    package let left, right: [ModelWrite]
    package let order: Order
    /// The writes of the left side after the merge.
    package let then: [ModelWrite]
    /// The expected document; nil if it does not exist.
    package let value: Value?
    package let parts: [PartValue]

    package init(
        _ name: String, base: [ModelWrite] = [], left: [ModelWrite], right: [ModelWrite],
        order: Order = .any, then: [ModelWrite] = [], value: Value?, parts: [PartValue] = []
    ) {
        self.name = name
        self.base = base
        self.left = left
        self.right = right
        self.order = order
        self.then = then
        self.value = value
        self.parts = parts
    }

    /// The times and sites of the two sides.
    private struct Setting {
        let left, right: Stamp

        static func of(_ left: UInt64, _ leftSite: UInt64, _ right: UInt64, _ rightSite: UInt64)
            -> Setting
        {
            Setting(
                left: Stamp(HybridTime(rawValue: left), Site(rawValue: leftSite)),
                right: Stamp(HybridTime(rawValue: right), Site(rawValue: rightSite)))
        }
    }

    private var settings: [Setting] {
        let later: [Setting] = [.of(20, 1, 30, 2), .of(20, 2, 30, 1), .of(20, 1, 20, 2)]
        guard case .any = order else { return later }
        return later + [.of(30, 1, 20, 2), .of(30, 2, 20, 1), .of(20, 2, 20, 1)]
    }

    /// Returns the failures, for both directions and with intermediate peers.
    package func failures<Document: MergingDocument>(of type: Document.Type) -> [String] {
        settings.flatMap { setting -> [String] in
            let base = written(
                base, on: Document(), Stamp(HybridTime(rawValue: 1), setting.left.site))
            let left = written(self.left, on: base, setting.left)
            let right = written(self.right, on: base, setting.right)
            let last = Stamp(HybridTime(rawValue: 40), setting.left.site)
            let expected = written(then, on: left.joined(with: right), last)
            return outcomes(left, right, between: [Document(), base]).flatMap { way, outcome in
                failures(written(then, on: outcome, last), expected)
                    .map { "\(way): \($0) (\(setting))" }
            }
        }
    }

    private func written<Document: MergingDocument>(
        _ writes: [ModelWrite], on document: Document, _ first: Stamp
    ) -> Document {
        var document = document
        for (index, write) in writes.enumerated() {
            let time = HybridTime(rawValue: first.time.rawValue + UInt64(index))
            document.apply(write, stamp: Stamp(time, first.site))
        }
        return document
    }

    /// Returns the merged document for each path by which both writes can reach a peer.
    private func outcomes<Document: MergingDocument>(
        _ left: Document, _ right: Document, between thirds: [Document]
    ) -> [(String, Document)] {
        let direct = [
            ("left joins right", left.joined(with: right)),
            ("right joins left", right.joined(with: left)),
        ]
        return direct
            + thirds.flatMap { third in
                let (withLeft, withRight) = (third.joined(with: left), third.joined(with: right))
                let (first, second) = (withLeft.joined(with: right), withRight.joined(with: left))
                return [
                    ("a third joins left, then right", first),
                    ("a third joins right, then left", second),
                    ("left joins a third that has right", left.joined(with: withRight)),
                    ("right joins a third that has left", right.joined(with: withLeft)),
                    ("left joins a third that has both", left.joined(with: first)),
                    ("right joins a third that has both", second.joined(with: right)),
                    ("two thirds join", withLeft.joined(with: withRight)),
                ]
            }
    }

    private func failures<Document: MergingDocument>(
        _ outcome: Document, _ other: Document
    ) -> [String] {
        var failures: [String] = []
        if outcome.value != value { failures.append("shows \(text(outcome.value))") }
        for part in parts {
            let shown = outcome.value(at: part.path, as: part.part)
            if shown != part.value {
                failures.append("\(part.path) as \(part.part) shows \(text(shown))")
            }
        }
        if outcome.dump != other.dump { failures.append("depends on the path") }
        return failures
    }

    private func text(_ value: Value?) -> String { value.map { "\($0)" } ?? "nothing" }
}

package import SheafDocument

/// Two peers who write without having seen each other, and what is seen when they have.
package struct MergeRow: Sendable {
    /// Who of the two has the later stamps.
    package enum Order: Sendable {
        /// Either, also with equal times: the outcome is the same.
        case any
        /// The one on the right, if only by its site.
        case rightLater
    }

    /// What a part shows, also if another part of the field shows in the document.
    package struct PartValue: Sendable {
        package let path: [String]
        package let part: Part
        /// Nil if the part is not there.
        package let value: Value?

        package init(_ path: [String], _ part: Part, _ value: Value?) {
            self.path = path
            self.part = part
            self.value = value
        }
    }

    package let name: String
    /// What both have seen.
    package let base: [ModelWrite]
    package let left, right: [ModelWrite]
    package let order: Order
    /// What the one on the left does when it has seen both.
    package let then: [ModelWrite]
    /// Nil if there is no document then.
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

    /// When and where the two write.
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

    /// What is not as it should be, with both directions and with third peers between.
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

    /// The ways on which both can come to somebody.
    private func outcomes<Document: MergingDocument>(
        _ left: Document, _ right: Document, between thirds: [Document]
    ) -> [(String, Document)] {
        let direct = [
            ("left takes right", left.joined(with: right)),
            ("right takes left", right.joined(with: left)),
        ]
        return direct
            + thirds.flatMap { third in
                let (withLeft, withRight) = (third.joined(with: left), third.joined(with: right))
                let (first, second) = (withLeft.joined(with: right), withRight.joined(with: left))
                return [
                    ("a third takes left, then right", first),
                    ("a third takes right, then left", second),
                    ("left takes it from a third that has right", left.joined(with: withRight)),
                    ("right takes it from a third that has left", right.joined(with: withLeft)),
                    ("left takes it from a third that has both", left.joined(with: first)),
                    ("right takes it from a third that has both", second.joined(with: right)),
                    ("two thirds meet", withLeft.joined(with: withRight)),
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
        if outcome.dump != other.dump { failures.append("depends on the way") }
        return failures
    }

    private func text(_ value: Value?) -> String { value.map { "\($0)" } ?? "nothing" }
}

package import SheafBytes

/// A translation of documents to the name numbers of another table.
///
/// Most documents have names in the same order in both tables, so their numbers are replaced in a
/// copy. All others are rewritten (`EncodedDocument.renamed(from:to:)`).
package struct NameTranslation: Sendable {
    package private(set) var source: NameTable
    package private(set) var target: NameTable
    /// Name numbers of the target, indexed by those of the source.
    private var numbers: [UInt32] = []

    package init(from source: NameTable = NameTable(), to target: NameTable = NameTable()) {
        (self.source, self.target) = (source, target)
        recordSource()
    }

    /// Adopts newer tables; tables only grow.
    package mutating func update(from source: NameTable, to target: NameTable) {
        let hasGrown = target.count > self.target.count
        (self.source, self.target) = (source, target)
        if hasGrown {
            numbers.removeAll(keepingCapacity: true)
            recordSource()
        } else if source.count > numbers.count {
            recordSource()
        }
    }

    private mutating func recordSource() {
        for number in numbers.count..<source.count {
            let name = source.name(number) ?? ""
            numbers.append(target.number(of: Array(name.utf8)).map(UInt32.init) ?? Self.unknown)
        }
    }

    private static let unknown = UInt32.max

    /// The result of a translation.
    package enum Outcome {
        /// The document with only numbers replaced; it spells out no names.
        case patched([UInt8])
        case written([UInt8])
        /// The target lacks a number for a name that has one in the source.
        case unknown
    }

    /// Returns the translated document; `unknown` if only numbers would change and one is missing.
    package func translateAll(_ document: EncodedDocument) throws(Malformed) -> Outcome {
        switch try patch(document) {
        case .patched(let bytes): return .patched(bytes)
        case .unlike: return .written(try document.renamed(from: source, to: target))
        case .unknown: return .unknown
        }
    }

    /// Returns the translated document; names that the target lacks are spelled out.
    package func translate(_ document: EncodedDocument) throws(Malformed) -> Outcome {
        if case .patched(let bytes) = try patch(document) { return .patched(bytes) }
        return .written(try document.renamed(from: source, to: target))
    }

    /// Returns the names of a document that have a number in the source but not in the target.
    package func unknownNames(of document: EncodedDocument) throws(Malformed) -> [[UInt8]] {
        var found: [[UInt8]] = []
        // A set is used because the sender controls the number of names.
        var seen: Set<UInt32> = []
        try document.forEachNameNumber { number in
            guard number < numbers.count, numbers[Int(number)] == Self.unknown,
                seen.insert(number).inserted, let name = source.name(Int(number))
            else { return }
            found.append(Array(name.utf8))
        }
        return found
    }

    private enum Copy {
        case patched([UInt8])
        /// The replacement would change more than the numbers.
        case unlike
        /// The target lacks a name.
        case unknown
    }

    private func patch(_ document: EncodedDocument) throws(Malformed) -> Copy {
        var verdict = Patch.Verdict.done
        var failure: Malformed?
        var bytes: [UInt8] = []
        bytes.reserveCapacity(document.bytes.count)
        bytes.append(contentsOf: document.bytes)
        bytes.withUnsafeMutableBytes { copy in
            do throws(Malformed) {
                verdict = try numbers.withUnsafeBufferPointer { (numbers) throws(Malformed) in
                    try Patch(copy: copy, numbers: numbers).patch(document.root, depth: 0)
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return switch verdict {
        case .done: .patched(bytes)
        case .unlike: .unlike
        case .unknown: .unknown
        }
    }

    /// A replacement of name numbers in a copy of a document that changes nothing else.
    private struct Patch {
        enum Verdict {
            case done, unlike, unknown
        }

        let copy: UnsafeMutableRawBufferPointer
        let numbers: UnsafeBufferPointer<UInt32>

        func patch(_ entry: EncodedEntry, depth: Int) throws(Malformed) -> Verdict {
            guard depth <= Value.maximumDepth else { return .unlike }
            switch try entry.tag() {
            case .map, .bareMap, .object: return try patch(try entry.object(), depth: depth)
            case .array:
                let array = try entry.array()
                for index in 0..<array.count {
                    let element = try array.element(index)
                    guard element.mayHoldNames else { continue }
                    let verdict = try patch(element, depth: depth + 1)
                    guard verdict == .done else { return verdict }
                }
                return .done
            case .token: return try patch(try entry.inner(), depth: depth + 1)
            case .several: return .unlike
            default: return .done
            }
        }

        private func patch(_ object: EncodedObject, depth: Int) throws(Malformed) -> Verdict {
            // Spelled-out names may have numbers in the target.
            guard object.count == object.numberedCount else { return .unlike }
            let isWide = object.flags & ShapeBits.wideNames != 0
            var last: UInt32?
            for index in 0..<object.count {
                let number = Int(object.nameNumber(index))
                guard number < numbers.count else { return .unlike }
                let other = numbers[number]
                guard other != NameTranslation.unknown else { return .unknown }
                if let last, other <= last { return .unlike }
                last = other
                if isWide {
                    copy.storeBytes(
                        of: UInt16(truncatingIfNeeded: other).littleEndian,
                        toByteOffset: object.namesAt + 2 * index, as: UInt16.self)
                } else if other > 0xFF {
                    return .unlike
                } else {
                    copy[object.namesAt + index] = UInt8(truncatingIfNeeded: other)
                }
                let entry = try object.entry(index)
                guard entry.mayHoldNames else { continue }
                let verdict = try patch(entry, depth: depth + 1)
                guard verdict == .done else { return verdict }
            }
            // Numbers use the narrowest width that fits the last one.
            if isWide, let last, last <= 0xFF { return .unlike }
            return .done
        }
    }
}

extension EncodedDocument {
    /// Calls `body` with the name number of each numbered field.
    fileprivate func forEachNameNumber(_ body: (UInt32) -> Void) throws(Malformed) {
        guard try root.tag() != .noRoot else { return }
        try visitObjects(in: root, depth: 1) { object in
            for index in 0..<object.numberedCount { body(object.nameNumber(index)) }
        }
    }
}

extension NameTranslation.Outcome {
    /// The document; nil if a name is unknown.
    package var bytes: [UInt8]? {
        switch self {
        case .patched(let bytes), .written(let bytes): bytes
        case .unknown: nil
        }
    }
}

/// Literals, single scalars and gaps: what LIKE can say, and most of what else is asked for.
///
/// A pattern is cut at its gaps into segments. The first stands at the start of the text and the
/// last at its end, unless a gap is there; the others are found from left to right, each as early
/// as can be. Whatever the gaps, no segment has to be looked for twice.
struct LikePattern: Sendable {
    /// One thing of a pattern.
    enum Element {
        case scalar(UInt32)
        /// `_`.
        case one
        /// `%`.
        case gap
    }

    /// What lies between two gaps.
    private struct Segment {
        let lower: Int
        let upper: Int
        let hasWildcards: Bool
    }

    /// Stands for one scalar; it is no byte of UTF-8.
    private static let wildcard: UInt8 = 0xFF

    private let segments: [Segment]
    private let bytes: [UInt8]
    private let startsWithGap: Bool
    private let endsWithGap: Bool
    let ignoresCase: Bool

    init(_ elements: some Sequence<Element>, ignoresCase: Bool) {
        var segments: [Segment] = []
        var bytes: [UInt8] = []
        var start = 0
        var hasWildcards = false
        var lastWasGap = false
        var count = 0
        var gapFirst = false
        for element in elements {
            lastWasGap = false
            switch element {
            case .scalar(let scalar):
                let folded = ignoresCase ? CaseFolding.lower(scalar) : scalar
                bytes += Unicode.Scalar(folded).flatMap(UTF8.encode) ?? .init()
            case .one:
                bytes.append(Self.wildcard)
                hasWildcards = true
            case .gap:
                if count == 0 { gapFirst = true }
                if start < bytes.count {
                    segments.append(
                        Segment(lower: start, upper: bytes.count, hasWildcards: hasWildcards))
                }
                start = bytes.count
                hasWildcards = false
                lastWasGap = true
            }
            count += 1
        }
        if start < bytes.count {
            segments.append(Segment(lower: start, upper: bytes.count, hasWildcards: hasWildcards))
        }
        self.segments = segments
        self.bytes = bytes
        self.ignoresCase = ignoresCase
        startsWithGap = gapFirst
        endsWithGap = lastWasGap
    }

    // MARK: What planners want to know

    /// The bytes that each text begins with; none where the case does not matter.
    var literalPrefix: [UInt8] {
        guard !ignoresCase, !startsWithGap, let first = segments.first else { return [] }
        return Array(bytes[first.lower..<first.upper].prefix { $0 != Self.wildcard })
    }

    /// True where each text that begins so is accepted, and no other.
    var isPrefix: Bool {
        guard !ignoresCase, endsWithGap else { return false }
        return segments.isEmpty
            || !startsWithGap && segments.count == 1 && !segments[0].hasWildcards
    }

    /// The one text that is accepted.
    var literal: [UInt8]? {
        guard !ignoresCase, !startsWithGap, !endsWithGap, segments.count < 2 else { return nil }
        guard let only = segments.first else { return [] }
        return only.hasWildcards ? nil : bytes
    }

    // MARK: Matching

    /// Whether all of `text` is accepted; nil where that costs more than there is fuel.
    func matches(_ text: UnsafeRawBufferPointer, fuel: inout Int) -> Bool? {
        fuel -= text.count + 1
        guard fuel >= 0 else { return nil }
        guard ignoresCase else { return matches(exactly: text, fuel: &fuel) }
        return CaseFolding.withLower(text) { matches(exactly: $0, fuel: &fuel) }
    }

    private func matches(exactly text: UnsafeRawBufferPointer, fuel: inout Int) -> Bool? {
        bytes.withUnsafeBytes { bytes in
            func part(_ segment: Segment) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(rebasing: bytes[segment.lower..<segment.upper])
            }
            var text = text
            var start = 0
            var index = 0
            if !startsWithGap {
                guard let first = segments.first else { return endsWithGap || text.isEmpty }
                guard let end = end(of: part(first), first.hasWildcards, in: text, at: 0)
                else { return false }
                start = end
                index = 1
            }
            var last = segments.count
            if !endsWithGap {
                guard index < last else { return start == text.count }
                last -= 1
                let begin = begin(
                    of: part(segments[last]), segments[last].hasWildcards, in: text)
                guard let begin, begin >= start else { return false }
                text = UnsafeRawBufferPointer(rebasing: text[..<begin])
            }
            while index < last {
                let segment = segments[index]
                guard
                    let end = segment.hasWildcards
                        ? search(part(segment), in: text, from: start, fuel: &fuel)
                        : TextSearch.first(part(segment), in: text, from: start).map({
                            $0 + segment.upper - segment.lower
                        })
                else { return fuel < 0 ? nil : false }
                start = end
                index += 1
            }
            return true
        }
    }

    /// Where a segment ends that begins at `offset`; nil where it does not stand there.
    @inline(__always)
    private func end(
        of segment: UnsafeRawBufferPointer, _ hasWildcards: Bool,
        in text: UnsafeRawBufferPointer, at offset: Int
    ) -> Int? {
        guard hasWildcards else {
            let stands = TextSearch.stands(segment, in: text, at: offset)
            return stands ? offset + segment.count : nil
        }
        var offset = offset
        for byte in segment {
            guard offset < text.count else { return nil }
            if byte == Self.wildcard {
                offset += UTF8Walk.length(text, at: offset)
            } else {
                guard text[offset] == byte else { return nil }
                offset += 1
            }
        }
        return offset
    }

    /// Where a segment begins that ends with the text; nil where it does not stand there.
    private func begin(
        of segment: UnsafeRawBufferPointer, _ hasWildcards: Bool, in text: UnsafeRawBufferPointer
    ) -> Int? {
        guard hasWildcards else {
            let offset = text.count - segment.count
            return TextSearch.stands(segment, in: text, at: offset) ? offset : nil
        }
        var offset = text.count
        for byte in segment.reversed() {
            guard offset > 0 else { return nil }
            if byte == Self.wildcard {
                offset = UTF8Walk.start(text, ofScalarBefore: offset)
            } else {
                offset -= 1
                guard text[offset] == byte else { return nil }
            }
        }
        return offset
    }

    /// Where the first segment like this one ends; nil where there is none, or no fuel is left.
    ///
    /// A table of borders does not help where one scalar may be any other, so this one is not
    /// linear, and pays for each place with fuel.
    private func search(
        _ segment: UnsafeRawBufferPointer, in text: UnsafeRawBufferPointer, from start: Int,
        fuel: inout Int
    ) -> Int? {
        var place = start
        // Each byte of a segment stands for one byte or more.
        while segment.count <= text.count - place {
            var offset = place
            var index = 0
            while index < segment.count, offset < text.count {
                if segment[index] == Self.wildcard {
                    offset += UTF8Walk.length(text, at: offset)
                } else if segment[index] == text[offset] {
                    offset += 1
                } else {
                    break
                }
                index += 1
            }
            if index == segment.count { return offset }
            // The text is at its end, and would be even sooner behind this place.
            if offset == text.count { return nil }
            fuel -= index + 1
            guard fuel >= 0 else { return nil }
            place += UTF8Walk.length(text, at: place)
        }
        return nil
    }
}

extension LikePattern {
    /// Reads what stands behind LIKE; a scalar behind `escape` stands for itself.
    static func elements(
        _ pattern: String, escape: Unicode.Scalar?
    ) throws(QueryError) -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(pattern.utf8.count)
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if isEscaped {
                elements.append(.scalar(scalar.value))
                isEscaped = false
                continue
            }
            switch scalar {
            case escape: isEscaped = true
            case "%": elements.append(.gap)
            case "_": elements.append(.one)
            default: elements.append(.scalar(scalar.value))
            }
        }
        if isEscaped {
            let end = pattern.utf8.count
            let escape = escape.map { String($0).utf8.count } ?? 1
            throw PatternParser.danglingEscape(at: SourceRange(end - escape, end), in: pattern)
        }
        return elements
    }
}

package import SheafBytes

/// The value of a field, read in place and not decoded.
///
/// A string is not checked to be UTF-8 before it is decoded.
package struct FieldElement: Sendable {
    /// The type of an element.
    package enum Kind: UInt8, Sendable {
        case missing, null, no, yes, integer, float, string
        /// A value of another type, which must be decoded with its document.
        case other
    }

    package let kind: Kind
    /// The length of a string.
    private let length: UInt32
    /// The bits of a number, or the address of a string.
    private let word: UInt64

    @inline(__always)
    init(_ kind: Kind, _ word: UInt64 = 0, length: UInt32 = 0) {
        self.kind = kind
        self.word = word
        self.length = length
    }

    /// Reads the visible value of a field; nil is a missing one.
    @inline(__always)
    init(_ entry: EncodedEntry?) throws(Malformed) {
        guard let entry, let shown = try entry.shown() else {
            self.init(.missing)
            return
        }
        switch shown.rawTag & ~Tag.referenceBit {
        case Tag.string.rawValue:
            self.init(text: try shown.payloadBytes())
        case Tag.integer8.rawValue...Tag.float.rawValue:
            switch try shown.number() {
            case .integer(let integer): self.init(.integer, UInt64(bitPattern: integer))
            case .float(let float): self.init(.float, float.bitPattern)
            case nil: self.init(.other)
            }
        case Tag.null.rawValue: self.init(.null)
        case Tag.no.rawValue: self.init(.no)
        case Tag.yes.rawValue: self.init(.yes)
        default: self.init(.other)
        }
    }

    /// Creates an element that refers to the bytes of a string without copying them.
    @inline(__always)
    init(text: UnsafeRawBufferPointer) {
        self.init(
            .string, UInt64(UInt(bitPattern: text.baseAddress)),
            length: UInt32(truncatingIfNeeded: text.count))
    }

    /// Creates the element of a value that is no string, bytes, array or object.
    package init(plain value: Value?) {
        switch value {
        case nil: self.init(.missing)
        case .null?: self.init(.null)
        case .bool(let flag)?: self.init(flag ? .yes : .no)
        case .integer(let integer)?: self.init(.integer, UInt64(bitPattern: integer))
        case .float(let float)?: self.init(.float, float.bitPattern)
        default: self.init(.other)
        }
    }

    /// A kind and bits that are the same for equal numbers.
    package var identity: (kind: Kind, word: UInt64) {
        guard kind == .float else { return (kind, word) }
        if let integer = Int64(exactly: float) { return (.integer, UInt64(bitPattern: integer)) }
        return (.float, float.isNaN ? Double.nan.bitPattern : word)
    }

    /// The integer; only for elements of this kind.
    @inline(__always)
    package var integer: Int64 { Int64(bitPattern: word) }

    /// The float; only for elements of this kind.
    @inline(__always)
    package var float: Double { Double(bitPattern: word) }

    /// The bytes of a string; only for elements of this kind.
    @inline(__always)
    package var text: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: UnsafeRawPointer(bitPattern: UInt(word)), count: Int(length))
    }

    /// The offset of a string in a column under construction, stored instead of its address.
    @inline(__always)
    var offset: UInt64 { word }

    /// The length of a string.
    @inline(__always)
    var textCount: Int { Int(length) }

    /// The address of a string that is not empty; nil for other elements.
    @inline(__always)
    package var textAddress: UInt64? { kind == .string && length > 0 ? word : nil }

    /// Returns the value, nil if it is missing; not for elements of the kind `other`.
    package func value() throws(Malformed) -> Value? {
        switch kind {
        case .missing: return nil
        case .null: return .null
        case .no: return .bool(false)
        case .yes: return .bool(true)
        case .integer: return .integer(integer)
        case .float: return .float(float)
        case .string: return .string(try SheafDocument.text(text, at: 0))
        case .other: preconditionFailure("Other values are decoded with their document.")
        }
    }
}

import SheafDocument
import SheafStorage
import SheafSystem

/// The ids of rows without one, which sort in the order of the rows.
///
/// An id has 32 hexadecimal digits: 12 for the time at which the import began, in milliseconds, 10
/// random ones, and 10 for the number of the row. Ascending keys are also written faster.
struct RowIDs {
    private static let length = 32
    /// The key of the next row.
    private var key: [UInt8]
    private let digits: Range<Int>

    init(_ options: LogStoreOptions, collection: UInt16) {
        let first =
            Self.digits(options.clock.wallMilliseconds(), 12) + Self.digits(options.random(), 10)
            + Self.digits(0, 10)
        let id = SortKey.identity(of: .string(String(decoding: first, as: UTF8.self)))
        key = StoreKey.document(collection: collection, id: id).bytes
        // A text key has one byte before the text.
        let start = StoreKey.documentPrefixLength + 1
        digits = start..<start + Self.length
        precondition(key[digits].elementsEqual(first), "The key has the digits as they are.")
    }

    /// Returns the key of the next row.
    mutating func next() -> [UInt8] {
        let next = key
        var index = digits.upperBound - 1
        while index >= digits.lowerBound {
            switch key[index] {
            case UInt8(ascii: "9"):
                key[index] = UInt8(ascii: "a")
                return next
            case UInt8(ascii: "f"):
                key[index] = UInt8(ascii: "0")
                index -= 1
            default:
                key[index] += 1
                return next
            }
        }
        return next
    }

    /// Advances by a number of rows.
    mutating func skip(_ count: Int) {
        var (rest, index) = (count, digits.upperBound)
        while rest > 0, index > digits.lowerBound {
            index -= 1
            let value = Self.value(ofDigit: key[index]) + rest
            key[index] = Self.allDigits[value & 15]
            rest = value >> 4
        }
    }

    private static let allDigits = Array("0123456789abcdef".utf8)

    private static func value(ofDigit digit: UInt8) -> Int {
        Int(digit) - Int(digit <= UInt8(ascii: "9") ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }

    /// Returns the last hexadecimal digits of a number.
    private static func digits(_ number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { allDigits[Int(number >> UInt64(4 * (count - 1 - $0)) & 15)] }
    }
}

import BenchStores
import SheafDocument

/// Cars as documents.
extension Cars {
    /// The name dictionary of the texts.
    static let names: NameTable = {
        let all = [
            "make", "model", "year", "color", "mileage", "price", "sold", "owner", "name", "city",
            "tags", "description",
        ]
        guard let table = NameTable(all) else { preconditionFailure("No name is repeated.") }
        return table
    }()

    /// The site that inserts documents.
    static let site = Site(rawValue: 0x9E37_79B9_7F4A_7C15)
    /// Another site, which edits documents.
    static let otherSite = Site(rawValue: 0xBF58_476D_1CE4_E5B9)

    private static let start: UInt64 = 1_700_000_000_000

    /// Returns the stamp of a car's insertion.
    static func insertion(_ index: UInt64) -> Stamp {
        Stamp(HybridTime(milliseconds: start + index), site)
    }

    /// Returns the stamp of a later edit.
    static func edit(_ index: UInt64, by site: Site) -> Stamp {
        Stamp(HybridTime(milliseconds: start + 86_400_000 + index), site)
    }

    /// Returns the encoded state of an inserted document.
    static func document(_ text: [UInt8], _ index: UInt64) throws -> [UInt8] {
        guard case .object(let car) = try Value(jsonBytes: text) else {
            preconditionFailure("A car is an object.")
        }
        return try Insertion.document(car, at: insertion(index), names)
    }
}

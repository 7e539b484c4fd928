import SheafBytes
package import SheafDocument
import SheafSync

extension DocumentAddress {
    /// The log fields that identify the document, shortened like user data in an error.
    var logFields: [String: String] {
        let json = (try? DocumentID.id(of: id))?.json ?? ""
        return ["collection": collection.shortened, "id": json.shortened]
    }

    /// Approximate number of bytes of the address in memory.
    package var memoryLength: Int { collection.utf8.count + id.count + 64 }
}

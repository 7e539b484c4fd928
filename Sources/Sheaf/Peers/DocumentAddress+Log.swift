import SheafBytes
import SheafDocument
import SheafSync

extension DocumentAddress {
    /// The fields that name the document in a line of the log, each cut like user data in an error.
    var logFields: [String: String] {
        let json = (try? DocumentID.id(of: id))?.json ?? ""
        return ["collection": collection.shortened, "id": json.shortened]
    }
}

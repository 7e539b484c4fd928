/// A car as an application has it.
struct Car: Decodable {
    /// Whom it belongs to.
    struct Owner: Decodable {
        let name: String
        let city: String
    }

    let make: String
    let model: String
    let year: Int
    let color: String
    let mileage: Int
    let price: Double
    let sold: Bool
    let owner: Owner
    let tags: [String]
    let description: String
}

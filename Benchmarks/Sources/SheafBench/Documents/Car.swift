/// A car as a `Decodable` type of an application.
struct Car: Decodable {
    /// The owner of a car.
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

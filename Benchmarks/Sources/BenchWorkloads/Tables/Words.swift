/// Words from which the values of tables are made.
enum Words {
    static let departments = [
        "Dairy", "Bakery", "Produce", "Frozen", "Drinks", "Snacks", "Pantry", "Household",
        "Beauty", "Baby", "Pets", "Garden", "Meat", "Fish", "Deli", "Spices", "Breakfast",
        "Sweets", "Wine", "Office",
    ]
    static let kinds = [
        "Organic", "Classic", "Smoked", "Fresh", "Light", "Dark", "Salted", "Sweet", "Wild",
        "Golden", "Crunchy", "Mild",
    ]
    static let goods = [
        "Oat Milk", "Rye Bread", "Apple Juice", "Almond Bar", "Basmati Rice", "Tomato Sauce",
        "Green Tea", "Olive Oil", "Hazelnut Spread", "Lemon Soap", "Salmon", "Cheddar", "Yogurt",
        "Pepper", "Honey", "Coffee",
    ]
    static let cities = [
        "Amsterdam", "Berlin", "Copenhagen", "Dublin", "Gothenburg", "Lyon", "Porto", "Vienna",
    ]
    static let countries = ["DE", "DK", "ES", "FR", "IT", "NL", "PT", "SE"]
    static let firstNames = [
        "Ada", "Alan", "Barbara", "Dennis", "Donald", "Edsger", "Frances", "Grace", "Hedy",
        "John", "Katherine", "Ken", "Leslie", "Linus", "Margaret", "Radia",
    ]
    static let lastNames = [
        "Allen", "Berg", "Byron", "Dahl", "Eklund", "Fischer", "Garcia", "Hopper", "Ito",
        "Jensen", "Kowalski", "Larsen", "Moreau", "Nilsson", "Olsen", "Rossi", "Silva", "Weber",
    ]
    static let titles = [
        "Night", "River", "Garden", "Winter", "Letter", "Station", "Mirror", "Harbor", "Summer",
        "Island", "Silence", "Return", "Shadow", "Journey", "Kingdom", "Orchard",
    ]
}

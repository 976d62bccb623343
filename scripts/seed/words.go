package main

// What the organization is made of.
var (
	folders = []struct{ id, name, parent string }{
		{"product", "Product", "root"},
		{"research", "Research", "product"},
		{"marketing", "Marketing", "root"},
		{"legal", "Legal", "root"},
	}

	documents = []struct{ id, name, folder string }{
		{"roadmap", "Roadmap 2027", "product"},
		{"onboarding", "Onboarding flow", "product"},
		{"pricing", "Pricing page", "product"},
		{"interviews", "Customer interviews, autumn", "research"},
		{"survey", "Survey results", "research"},
		{"launch", "Launch plan", "marketing"},
		{"newsletter", "Newsletter, November", "marketing"},
		{"brand", "Brand guide", "marketing"},
		{"terms", "Terms of service", "legal"},
		{"privacy", "Privacy notice", "legal"},
		{"budget", "Budget Q1", "root"},
		{"handbook", "Team handbook", "root"},
	}

	people = []person{
		{"ann", "Ann Lindqvist"}, {"bob", "Bob Okafor"}, {"carla", "Carla Mendes"}, {"dmitri", "Dmitri Volkov"},
		{"emiko", "Emiko Tanaka"}, {"farid", "Farid Haddad"}, {"greta", "Greta Olsen"}, {"hugo", "Hugo Martin"},
		{"ines", "Inés Ortega"}, {"jonas", "Jonas Weber"}, {"kavya", "Kavya Rao"}, {"liam", "Liam O'Connor"},
	}

	// subjects are what threads are about: the text that they are anchored on, and how they begin.
	subjects = []struct{ text, opening string }{
		{"by the end of March", "Is March realistic? The design review alone takes two weeks."},
		{"all paying customers", "Does this include customers on a trial that was extended?"},
		{"three simple steps", "In the last test people counted five. Let us say what they are instead."},
		{"up to 20 %", "Where does this number come from? I would link the source."},
		{"we may share data", "Legal asked for the exact list of processors here."},
		{"contact support", "This should be a link, and open the chat where there is one."},
		{"a modern look", "Too vague for a guide. Shall we name the three rules we settled on?"},
		{"launch on Tuesday", "Tuesday is a holiday in two of our markets."},
		{"42 respondents", "The raw file has 47. Were five removed, and why?"},
		{"€ 18,000", "The quote I have says 21,500, without translation."},
		{"as soon as possible", "Can we give a date? Otherwise nobody will plan for it."},
		{"free of charge", "Still true for the enterprise plan?"},
		{"the new editor", "People call it \"the canvas\". Should we, too?"},
		{"every team", "Not every team has an owner yet: see the handbook."},
		{"30 days", "The contract says 14. Which one holds?"},
	}

	replies = []string{
		"Good catch, I will change it.",
		"I checked: it is right as it stands, but it reads oddly. Reworded.",
		"Let us ask in the Thursday meeting.",
		"Agreed. Done in the latest version.",
		"Not sure. What would it cost us to leave it?",
		"We had this in September, and decided against it. The reasons are in the notes.",
		"Thanks! That makes it much clearer.",
		"I would rather keep it, and add a footnote.",
		"Can you look at the second paragraph as well? The same number is there.",
		"Done, please check.",
	}

	notices = []struct{ headline, body string }{
		{"{actionUser} asked you to review {what}", "Please have a look before Friday."},
		{"{actionUser} shared {what} with {recipientUser}", "You can comment on it from now on."},
		{"{actionUser} finished {what}", "Nothing is left to do there."},
	}
)

// person is a member of the organization.
type person struct{ id, name string }

func (p person) email() string { return p.id + "@northwind.example" }

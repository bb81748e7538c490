package lang_test

import (
	"strings"
	"testing"

	"github.com/eyrie-ai/eyrie/dataset/internal/lang"
)

func TestDetect(t *testing.T) {
	tests := []struct{ text, want string }{
		{"What is the capital of France, and how do I get there?", "en"},
		{"Wie komme ich am besten von hier zum Bahnhof, und was kostet das?", "de"},
		{"Quelle est la capitale de la France et comment y aller ?", "fr"},
		{"¿Cuál es la capital de Francia y cómo se llega a ella?", "es"},
		{"Qual é a capital da França e como se chega lá? Não sei.", "pt"},
		{"Qual è la capitale della Francia e come ci si arriva? Non lo so.", "it"},
		{"Wat is de hoofdstad van Frankrijk en hoe kom ik er met het openbaar vervoer?", "nl"},
		{"Jaka jest stolica Francji i czy to się nie zmieniło przez lata?", "pl"},
		{"Какая столица Франции и как туда попасть? Я не знаю, что это.", "ru"},
		{"Яка столиця Франції і як туди потрапити? Це не так просто, але можна.", "uk"},
		{"法国的首都是哪里？", "zh"},
		{"フランスの首都はどこですか？", "ja"},
		{"프랑스의 수도는 어디입니까?", "ko"},
		{"ما هي عاصمة فرنسا؟", "ar"},
		{"फ्रांस की राजधानी क्या है?", "hi"},
		{"ฝรั่งเศสมีเมืองหลวงชื่ออะไร", "th"},
		{"Ποια είναι η πρωτεύουσα της Γαλλίας;", "el"},
		{"请写一个 Python function that sorts a list，并解释它的复杂度和用法。", "zh"},
		{"", lang.Unknown},
		{"12345 + 67890 = ?", lang.Unknown},
		{"ok", lang.Unknown},
		{"x = foo(bar); return x[i] * y", lang.Unknown},
		{"\xff\xfe", lang.Unknown},
		{strings.Repeat("What is the use of it all? ", 1000) + "é", "en"},
	}
	for _, tt := range tests {
		if got := lang.Detect(tt.text); got != tt.want {
			t.Errorf("%.40q is %s, want %s", tt.text, got, tt.want)
		}
	}
}

func TestCode(t *testing.T) {
	for name, want := range map[string]string{
		"en": "en", " EN ": "en", "English": "en", "en-US": "en", "zh_CN": "zh", "Mandarin": "zh", "deu": "deu",
		"": "", "Klingon": "", "12": "", "e": "",
	} {
		if got := lang.Code(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func FuzzDetect(f *testing.F) {
	f.Add("What is the capital of France?")
	f.Add("法国")
	f.Fuzz(func(t *testing.T, text string) {
		if lang.Detect(text) == "" {
			t.Error("no answer")
		}
	})
}

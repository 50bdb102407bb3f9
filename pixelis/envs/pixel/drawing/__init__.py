"""What scenes are drawn from: shapes, fonts, signs, tabletops and noise. It knows no environment."""
